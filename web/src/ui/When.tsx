import { useFormats, useNow } from "./format";

/** An instant as people say it, exact on hover. */
export function When({ at }: { at: string }) {
  const formats = useFormats();
  const now = useNow();
  const instant = new Date(at);
  return (
    <time dateTime={at} title={formats.exact(instant)}>
      {formats.relative(instant, now)}
    </time>
  );
}
