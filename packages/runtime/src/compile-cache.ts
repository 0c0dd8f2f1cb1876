import { enableCompileCache, flushCompileCache } from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'

/**
 * Enables Node's compile cache, which saves a quarter of the CPU time of later starts. Call it before the large modules are
 * imported.
 * The cache is in the user's own cache folder, because everyone with write access to the cache can change the code that
 * runs. All users share Node's default folder. The call has no effect without such a folder, or if `NODE_COMPILE_CACHE` sets
 * another folder.
 */
export function enableUserCompileCache(): void {
  const folder = findUserCompileCache()
  if (folder !== undefined) enableCompileCache(folder)
}

/** The folder of the user's compile cache; undefined for a user without a home folder. */
export function findUserCompileCache(): string | undefined {
  const cache = process.env['XDG_CACHE_HOME'] || findHomeCache()
  return cache === undefined ? undefined : join(cache, 'penstock', 'compiled')
}

/**
 * Saves the compiled modules of this process, once it is ready. Node itself saves them only at an orderly exit, so a market
 * that is killed would compile everything again at its next start. Without an enabled cache the call does nothing.
 */
export const saveCompileCache = (): void => flushCompileCache()

function findHomeCache(): string | undefined {
  try {
    return join(homedir(), '.cache')
  } catch {
    return undefined // A user that the system does not know has no home folder.
  }
}
