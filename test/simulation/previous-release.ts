import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { registerHooks, stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { runProgramSync, runSuccessfullySync } from '../support/processes.ts'

/**
 * The commit of the previous release. Its services and contracts run together with the current services, as during a deployment.
 * Both use the current runtime, so the commit has to import names that the runtime still has. Choose a later commit if a name
 * changes that these services import or store.
 */
export const PREVIOUS_RELEASE = 'c8c4f68e'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const CACHE = join(ROOT, 'node_modules/.cache/penstock')
/** Folders that come from the previous release; all others are current. */
const ARCHIVED = ['packages/contracts/src', 'packages/market/src', 'packages/channel-proof/src', 'services']
// The name contains the number of archived folders, so that a cached archive with fewer folders is not used.
const RELEASE_FOLDER = join(CACHE, `release-${PREVIOUS_RELEASE}-${ARCHIVED.length}`)

/** Unpacks the previous release into the cache. @returns the reason why it is not available, or undefined on success */
export function fetchPreviousRelease(): string | undefined {
  if (existsSync(RELEASE_FOLDER)) return undefined
  const partialFolder = `${RELEASE_FOLDER}.${process.pid}`
  try {
    mkdirSync(partialFolder, { recursive: true })
    const archive = `${partialFolder}/release.tar`
    runSuccessfullySync('git', ['archive', `--output=${archive}`, PREVIOUS_RELEASE, ...ARCHIVED], { cwd: ROOT })
    if (runProgramSync('tar', ['-xf', archive, '-C', partialFolder]).code !== 0)
      return `tar cannot unpack the services of ${PREVIOUS_RELEASE}`
    rmSync(archive)
    renameSync(partialFolder, RELEASE_FOLDER)
    return undefined
  } catch {
    return existsSync(RELEASE_FOLDER)
      ? undefined
      : `this clone lacks the commit ${PREVIOUS_RELEASE}, perhaps because it is shallow`
  } finally {
    rmSync(partialFolder, { recursive: true, force: true })
  }
}

const MARK = `release=${PREVIOUS_RELEASE}`
const PREVIOUS_ROOT = pathToFileURL(`${RELEASE_FOLDER}/`).href
const CURRENT_ROOT = pathToFileURL(ROOT).href
/**
 * Files that are loaded a second time for the previous release, because they import contracts. All other files are loaded once,
 * so that both releases share classes such as `Fault`.
 */
const LOADED_TWICE = [...ARCHIVED.map((path) => `${path}/`), 'packages/runtime/', 'test/simulation/replica.ts']

/**
 * Loads a module and its imports a second time, with the services and contracts of the previous release. The query `MARK` in a
 * module's URL marks the second copy, and the loader adds it to the URLs of that module's imports.
 */
export async function importPreviousRelease<T>(file: URL): Promise<T> {
  registerLoader()
  return (await import(`${file.href}?${MARK}`)) as T // The type is that of the current file.
}

let isRegistered = false
function registerLoader(): void {
  if (isRegistered) return
  isRegistered = true
  registerHooks({
    resolve(specifier, context, next) {
      const parent = context.parentURL ?? ''
      if (!parent.includes(MARK) && !specifier.includes(MARK)) return next(specifier, context)
      if (parent.startsWith(PREVIOUS_ROOT) && specifier.startsWith('.'))
        return { url: `${new URL(specifier, parent).href}?${MARK}`, shortCircuit: true }
      // The archive has no node_modules, so its files resolve packages from their place in the current checkout.
      const from = parent.startsWith(PREVIOUS_ROOT) ? `${CURRENT_ROOT}${parent.slice(PREVIOUS_ROOT.length)}` : parent
      const resolved = next(specifier, { ...context, parentURL: from })
      const url = resolved.url.split('?')[0] ?? ''
      const path = url.slice(CURRENT_ROOT.length)
      if (!url.startsWith(CURRENT_ROOT) || !LOADED_TWICE.some((part) => path.startsWith(part))) return { ...resolved, url }
      return { ...resolved, url: `${isArchived(path) ? PREVIOUS_ROOT : CURRENT_ROOT}${path}?${MARK}` }
    },
    load(url, context, next) {
      if (!url.startsWith(PREVIOUS_ROOT)) return next(url, context)
      // Node does not strip types of files below node_modules.
      const source = stripTypeScriptTypes(readFileSync(fileURLToPath(url.split('?')[0] ?? ''), 'utf8'))
      return { format: 'module', shortCircuit: true, source }
    },
  })
}

/** Whether the previous release loads a file from the archive. Fixtures are current, because they belong to the current tests. */
const isArchived = (path: string): boolean =>
  ARCHIVED.some((part) => path.startsWith(`${part}/`)) &&
  !/\.(contract|fixture)\.ts$/.test(path) &&
  existsSync(join(RELEASE_FOLDER, path))
