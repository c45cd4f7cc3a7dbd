/** Something that is wrong with one manifest. */
export interface Problem {
  externalId: string;
  batch?: string;
  problem: string;
}

/** One line per problem. What is wrong with many items of one batch in the same way is told once: a mistake in an option of the batch is one, not five thousand. */
export function listProblems(problems: Problem[]): string[] {
  const alike = Map.groupBy(problems, ({ externalId, batch, problem }) => JSON.stringify([batch ?? [externalId], problem]));
  return [...alike.values()].map((same) => {
    const [{ externalId, batch, problem }] = same as [Problem];
    const others = new Set(same.map((one) => one.externalId)).size - 1;
    if (batch === undefined || others === 0) return `manifest '${externalId}': ${problem}`;
    return `manifest '${externalId}' and ${others === 1 ? 'another' : `${others} others`} of batch '${batch}': ${problem}`;
  });
}

/** The names that occur more than once. */
export function findRepeated(names: string[]): string[] {
  const seen = new Set<string>();
  const twice = new Set<string>();
  for (const name of names) (seen.has(name) ? twice : seen).add(name);
  return [...twice];
}
