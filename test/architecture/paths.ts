import { posix } from 'node:path'

/** The package or service of a file, such as kernel for `packages/kernel/src/money.ts`. For other files, their first folder. */
export function getOwner(path: string): string {
  const [folder = '', name = ''] = path.split('/')
  return folder === 'packages' || folder === 'services' ? name : folder
}

/** Whether a file is a test or serves only tests, as every file outside packages and services. Tests may import every file. */
export const isTest = (path: string): boolean =>
  !/^(packages|services)\//.test(path) ||
  path.startsWith('packages/testkit/') ||
  /\.(test|contract|fixture|child)\.ts$/.test(path)

/** Whether a file is shipped code: a source file of a package or service that does not serve tests. */
export const isShipped = (path: string): boolean => /^(packages|services)\/[^/]+\/src\//.test(path) && !isTest(path)

/** The package or service that a specifier imports; undefined for npm packages and node:*. */
export const getImportedOwner = (from: string, specifier: string): string | undefined =>
  specifier.startsWith('.') ? getOwner(resolveRelative(from, specifier)) : /^@penstock\/([^/]+)/.exec(specifier)?.[1]

export const resolveRelative = (from: string, specifier: string): string => posix.join(posix.dirname(from), specifier)

/** @returns the file of the repository that a specifier imports, if it is one of `paths` */
export function resolveImport(from: string, specifier: string, paths: ReadonlySet<string>): readonly string[] {
  const [, owner, file] = /^@penstock\/([^/]+)\/(.+)$/.exec(specifier) ?? []
  const candidates = specifier.startsWith('.')
    ? [resolveRelative(from, specifier)]
    : [`packages/${owner}/src/${file}`, `services/${owner}/src/${file}`]
  return candidates.filter((candidate) => paths.has(candidate))
}
