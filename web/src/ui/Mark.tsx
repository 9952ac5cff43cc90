/** The word: redirect/answers/templates/mark.svg. */
export function Mark({ height = 28 }: { height?: number }) {
  return (
    <svg
      viewBox="0 0 414 143"
      height={height}
      width={(height * 414) / 143}
      role="img"
      aria-label="kurz"
    >
      <path
        fill="currentColor"
        d="M0 0h32v78l28-38h38L62 86l39 54H63l-22-33-9 11v22H0zM106 40h32v57c0 12 6 18 16 18s17-7 17-19V40h32v100h-31v-12c-6 9-16 15-29 15-24 0-37-15-37-40zM212 40h31v17c5-13 15-19 31-18v30c-20-2-30 7-30 25v46h-32zM282 40h66l-21 26h-45zM347 114h33v26h-54z"
      />
      <path fill="#ff5a1f" d="M280 140l94-117h-23V0h63v63h-23V46l-75 94z" />
    </svg>
  );
}
