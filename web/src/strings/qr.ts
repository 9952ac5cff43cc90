import { texts } from "./language";

export const qr = texts({
  en: {
    codeOf: (url: string) => `QR code for ${url}`,
    hint: "For print and screens. The SVG stays sharp at any size.",
    svg: "Download SVG",
    png: "Download PNG",
  },
  de: {
    codeOf: (url: string) => `QR-Code für ${url}`,
    hint: "Für Papier und Bildschirm. Das SVG bleibt in jeder Größe scharf.",
    svg: "SVG herunterladen",
    png: "PNG herunterladen",
  },
});
