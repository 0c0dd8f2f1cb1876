import type { Source } from './source.ts'

/** Files that only pass on what others define hide where things are, and load everything for one name. */
export const barrels = (sources: readonly Source[]): readonly string[] =>
  sources
    .filter(({ exports }) => exports.star || (exports.passedOn > 0 && exports.own === 0))
    .map(({ path }) => `${path} is a barrel: delete it and import each name from the file that defines it`)
