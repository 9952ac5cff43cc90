import { useFormats } from "../ui/format";

const LONGEST = 10_000; // above it, thousands are enough

/** A number that fits, exact on hover. */
export function Count({ value }: { value: number }) {
  const { number, compact } = useFormats();
  return <span title={number(value)}>{value < LONGEST ? number(value) : compact(value)}</span>;
}
