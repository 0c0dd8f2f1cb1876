/**
 * Combines the commit at the start and the end of a run. If they differ, some workers loaded other code, because each new worker
 * loads the code again. @returns the first commit, with " with changes" if the code changed during the run
 */
export const combineCommits = (first: string, last: string): string =>
  first === last || first.endsWith(' with changes') ? first : `${first} with changes`
