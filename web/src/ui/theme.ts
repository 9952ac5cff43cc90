import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from "@mantine/core";

// The colours of the server's own pages (redirect/answers/templates/style.css); a test compares them.
const accent: MantineColorsTuple = [
  "#fff3ee",
  "#ffe3d8",
  "#ffc4ae",
  "#ffa07c",
  "#ff7a47",
  "#ff5a1f",
  "#e84d12",
  "#b83600",
  "#8f2a00",
  "#661e00",
];
const gray: MantineColorsTuple = [
  "#fbfcfd",
  "#f3f5f8",
  "#e9ecf1",
  "#dfe3e9",
  "#c6ccd6",
  "#868e9a",
  "#6b7482",
  "#565e6b",
  "#2f3540",
  "#14171c",
];
// Three surfaces (7, 6, 5), then a border that is barely seen (4).
const dark: MantineColorsTuple = [
  "#f2f4f7",
  "#d3d8e0",
  "#9ca5b2",
  "#868e9a",
  "#262b33",
  "#1d2127",
  "#16191e",
  "#0e1013",
  "#0a0c0e",
  "#060708",
];

// For what cannot be taken back.
const bad: MantineColorsTuple = [
  "#fdeceb",
  "#fbd5d2",
  "#f5aaa4",
  "#ef7c73",
  "#e4554a",
  "#b3261e",
  "#9c2019",
  "#841a14",
  "#6c140f",
  "#550f0b",
];

const SANS = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
const MONO = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace';

export const theme = createTheme({
  colors: { accent, bad, gray, dark },
  primaryColor: "accent",
  primaryShade: 5,
  autoContrast: true, // dark words on orange: white ones would be too faint
  luminanceThreshold: 0.28,
  black: "#14171c",
  white: "#ffffff",
  defaultRadius: 8,
  fontFamily: SANS,
  fontFamilyMonospace: MONO,
  headings: { fontFamily: SANS, fontWeight: "750" },
  respectReducedMotion: true,
  cursorType: "pointer",
  focusRing: "auto",
  components: {
    Modal: {
      defaultProps: { transitionProps: { duration: 120 }, centered: true },
      styles: {
        title: { fontSize: 20, fontWeight: 750, overflowWrap: "anywhere" },
        header: { background: "var(--kurz-surface)" },
        content: { background: "var(--kurz-surface)" },
      },
    },
    Drawer: { defaultProps: { transitionProps: { duration: 120 } } },
  },
});

export const variables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    "--mantine-color-body": "#fbfcfd",
    "--mantine-color-text": "#14171c",
    "--mantine-color-dimmed": "#565e6b",
    "--mantine-color-placeholder": "#6b7482",
    "--mantine-color-error": "#b3261e",
    "--mantine-color-anchor": "#b83600",
    "--mantine-color-default-border": "#c6ccd6",
    "--kurz-surface": "#ffffff",
    "--kurz-raised": "#f3f5f8",
    "--kurz-line": "#dfe3e9",
    "--kurz-field": "#868e9a",
    "--kurz-accent-text": "#b83600",
    "--kurz-good": "#1a7f45",
    "--kurz-warning": "#8a5a00",
    "--kurz-bad": "#b3261e",
  },
  dark: {
    "--mantine-color-body": "#0e1013",
    "--mantine-color-text": "#f2f4f7",
    "--mantine-color-dimmed": "#9ca5b2",
    "--mantine-color-placeholder": "#868e9a",
    "--mantine-color-error": "#ff8a80",
    "--mantine-color-anchor": "#ff7a47",
    "--mantine-color-default-border": "#363d48",
    "--kurz-surface": "#16191e",
    "--kurz-raised": "#1d2127",
    "--kurz-line": "#262b33",
    "--kurz-field": "#6b7482",
    "--kurz-accent-text": "#ff7a47",
    "--kurz-good": "#5ad18a",
    "--kurz-warning": "#f0b64a",
    "--kurz-bad": "#ff8a80",
  },
});
