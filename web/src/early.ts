// Runs before anything is painted: the page's colours, and what may become HTML.
// A file of its own, not a module, because a script inside the page would need a weaker policy.

{
  // Mantine writes its styles into <style> elements, which browsers count as HTML. Nothing else here
  // makes HTML from text, and text without "<" cannot become an element.
  const policy = {
    createHTML(text: string): string {
      if (text.includes("<")) throw new TypeError("No HTML is made from text here.");
      return text;
    },
  };
  const { trustedTypes } = window as {
    trustedTypes?: { createPolicy(name: string, rules: typeof policy): unknown };
  };
  trustedTypes?.createPolicy("default", policy);

  let chosen: string | null = null;
  try {
    chosen = localStorage.getItem("kurz.colours");
  } catch {
    // A browser that keeps nothing: its own preference counts.
  }
  const prefersDark = matchMedia("(prefers-color-scheme: dark)").matches;
  const scheme = chosen === "light" || chosen === "dark" ? chosen : prefersDark ? "dark" : "light";
  document.documentElement.dataset.mantineColorScheme = scheme;
}
