/** Edges that no world can take, each with the reason. `unreachable.test.ts` proves that none is named for comfort. */
export const unreachable: Readonly<Record<string, string>> = {}
