import { Button } from "@mantine/core";
import { correction, generate } from "lean-qr";
import { toSvgPath } from "lean-qr/extras/svg";
import { useMemo } from "react";
import { useTexts } from "../strings/language";
import { qr } from "../strings/qr";
import styles from "./Qr.module.css";
import { save } from "./saving";

const QUIET = 4; // modules of white around it, as the standard asks for
const PIXELS = 1024;

/** A QR code and its files. Loaded when somebody asks for one: `lazily(() => import("./Qr"))`. */
export default function Qr({ url, name }: { url: string; name: string }) {
  const words = useTexts(qr);
  const { path, size } = useMemo(() => {
    const code = generate(url, { minCorrectionLevel: correction.M });
    return { path: toSvgPath(code), size: code.size };
  }, [url]);
  const box = `${-QUIET} ${-QUIET} ${size + 2 * QUIET} ${size + 2 * QUIET}`;
  return (
    <div className={styles.qr}>
      <svg viewBox={box} role="img" aria-label={words.codeOf(url)} shapeRendering="crispEdges">
        <rect x={-QUIET} y={-QUIET} width="100%" height="100%" fill="#fff" />
        <path d={path} fill="#000" />
      </svg>
      <div className={styles.files}>
        <p>{words.hint}</p>
        <Button variant="default" onClick={() => save(svgFile(box, path), `${name}.svg`)}>
          {words.svg}
        </Button>
        <Button variant="default" onClick={() => savePng(path, size, `${name}.png`)}>
          {words.png}
        </Button>
      </div>
    </div>
  );
}

function svgFile(box: string, path: string): Blob {
  const [x, y, width, height] = box.split(" ");
  const ground = `<rect x="${x}" y="${y}" width="${width}" height="${height}" fill="#fff"/>`;
  const text = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${box}" shape-rendering="crispEdges">${ground}<path d="${path}"/></svg>`;
  return new Blob([text], { type: "image/svg+xml" });
}

function savePng(path: string, size: number, name: string): void {
  const scale = Math.max(1, Math.floor(PIXELS / (size + 2 * QUIET)));
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = scale * (size + 2 * QUIET);
  const context = canvas.getContext("2d");
  if (context === null) return;
  context.fillStyle = "#fff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.setTransform(scale, 0, 0, scale, scale * QUIET, scale * QUIET);
  context.fillStyle = "#000";
  context.fill(new Path2D(path));
  canvas.toBlob((blob) => blob && save(blob, name));
}
