import { type ComponentType, type LazyExoticComponent, lazy } from "react";

/** A part of the dashboard did not come: there is no connection, or a newer version has other files. */
export class Unloaded extends Error {
  override readonly name = "Unloaded";
}

/** A part that is loaded when it is shown. If it cannot be, the nearest `<Fence>` says so. */
export function lazily<P extends object>(
  load: () => Promise<{ default: ComponentType<P> }>,
): LazyExoticComponent<ComponentType<P>> {
  return lazy(() =>
    load().catch(() => {
      throw new Unloaded();
    }),
  );
}
