import type { Source } from './source.ts'

/** Finds files that only re-export. They hide which file defines a name, and importing one name loads all re-exported files. */
export const findBarrels = (sources: readonly Source[]): readonly string[] =>
  sources
    .filter(({ exports }) => exports.hasStar || (exports.reExported > 0 && exports.own === 0))
    .map(({ path }) => `${path} is a barrel: delete it and import each name from the file that defines it`)
