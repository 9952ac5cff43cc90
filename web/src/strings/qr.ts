import { texts } from "./language";

export const qr = texts({
  en: {
    codeOf: (url: string) => `QR code of ${url}`,
    hint: "For paper and screens. The SVG stays sharp at any size.",
    svg: "Save as SVG",
    png: "Save as PNG",
  },
  de: {
    codeOf: (url: string) => `QR-Code für ${url}`,
    hint: "Für Papier und Bildschirm. Das SVG bleibt in jeder Größe scharf.",
    svg: "Als SVG sichern",
    png: "Als PNG sichern",
  },
});
