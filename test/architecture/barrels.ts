import type { Source } from './source.ts'

/** The entry of the published package: it is the list of the names that users may import. */
const PUBLISHED_ENTRY = 'packages/client/src/index.ts'

/** Finds files that only re-export. They hide which file defines a name, and importing one name loads all re-exported files. */
export const findBarrels = (sources: readonly Source[]): readonly string[] =>
  sources
    .filter(({ path, exports }) => path !== PUBLISHED_ENTRY && (exports.hasStar || (exports.reExported > 0 && exports.own === 0)))
    .map(({ path }) => `${path} is a barrel: delete it and import each name from the file that defines it`)
