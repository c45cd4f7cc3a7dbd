/**
 * Whether a text matches an IAM pattern: `*` is any run of characters, separators included, and `?` is exactly one. Two cursors and one place to
 * come back to: no regular expression, so a pattern cannot take exponential time.
 */
export function matchWildcard(pattern: string, text: string): boolean {
  let patternAt = 0;
  let textAt = 0;
  let starAt = -1;
  let resumeAt = 0;
  while (textAt < text.length) {
    const expected = pattern[patternAt];
    if (expected === '*') {
      starAt = patternAt++;
      resumeAt = textAt;
    } else if (expected !== undefined && (expected === '?' || expected === text[textAt])) {
      patternAt++;
      textAt++;
    } else if (starAt >= 0) {
      patternAt = starAt + 1;
      textAt = ++resumeAt;
    } else {
      return false;
    }
  }
  while (pattern[patternAt] === '*') patternAt++;
  return patternAt === pattern.length;
}
