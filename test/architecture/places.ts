import { posix } from 'node:path'

/** Where a file belongs: `packages/kernel/src/money.ts` to kernel, what is outside packages and services to its first folder. */
export function ownerOf(path: string): string {
  const [folder = '', name = ''] = path.split('/')
  return folder === 'packages' || folder === 'services' ? name : folder
}

/** Tests, the suites that adapters share, and what serves them, also outside packages and services: they may look at everything. */
export const isTest = (path: string): boolean =>
  !/^(packages|services)\//.test(path) || path.startsWith('packages/testkit/') || /\.(test|contract)\.ts$/.test(path)

/** The shipped code: what runs when nobody tests. */
export const isShipped = (path: string): boolean => /^(packages|services)\/[^/]+\/src\//.test(path) && !isTest(path)

/** The package or service that an import reaches; undefined for npm packages and node:*. */
export const importedOwner = (from: string, specifier: string): string | undefined =>
  specifier.startsWith('.') ? ownerOf(resolveRelative(from, specifier)) : /^@penstock\/([^/]+)/.exec(specifier)?.[1]

export const resolveRelative = (from: string, specifier: string): string => posix.join(posix.dirname(from), specifier)
