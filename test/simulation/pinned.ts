import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { registerHooks, stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/**
 * The commit whose services and contracts run together with today's, as during a deployment. The runtime is today's for
 * both. The releases before it took payments after their end, so that a run with one of them may lose money, and says so.
 */
export const PINNED = '2d62da6'

const root = fileURLToPath(new URL('../..', import.meta.url))
const cache = join(root, 'node_modules/.cache/penstock')
/** What the earlier release has of its own; everything else is today's. */
const ARCHIVED = ['packages/contracts/src', 'packages/market/src', 'packages/ports/src', 'services']
// Named by what is in it too, so that one of other parts is not taken for it.
const folder = join(cache, `release-${PINNED}-${ARCHIVED.length}`)

/** @returns why the earlier release cannot be had; undefined where it is there */
export function fetchPinned(): string | undefined {
  if (existsSync(folder)) return undefined
  const beside = `${folder}.${process.pid}`
  try {
    mkdirSync(beside, { recursive: true })
    const archive = execFileSync('git', ['archive', '--format=tar', PINNED, ...ARCHIVED], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: 64 << 20,
    })
    const unpacked = spawnSync('tar', ['-x', '-C', beside], { input: archive })
    if (unpacked.status !== 0) return `tar cannot unpack the services of ${PINNED}`
    renameSync(beside, folder)
    return undefined
  } catch {
    return existsSync(folder) ? undefined : `this clone does not have the commit ${PINNED} (a shallow one has not)`
  } finally {
    rmSync(beside, { recursive: true, force: true })
  }
}

/** Its contracts do not say which commands others send, so that it takes all of them, as it did. */
const CONTRACT = /(\{ category, owner,)(?= \.\.\.shapes \})/

const MARK = `release=${PINNED}`
const old = pathToFileURL(`${folder}/`).href
const today = pathToFileURL(root).href
/** Loaded once more for the earlier release, since contracts are in it by what it imports. All else is the same for both: a Fault is a Fault. */
const twofold = [...ARCHIVED.map((path) => `${path}/`), 'packages/runtime/', 'test/simulation/replica.ts']

/**
 * Loads a module and all that it imports a second time, with the services and contracts of the pinned commit in the place
 * of today's: the mark in a module's address is handed down to what it imports.
 */
export async function importPinned<T>(file: URL): Promise<T> {
  hook()
  return (await import(`${file.href}?${MARK}`)) as T // the same file as the caller's own import
}

let isHooked = false
function hook(): void {
  if (isHooked) return
  isHooked = true
  registerHooks({
    resolve(specifier, context, next) {
      const parent = context.parentURL ?? ''
      if (!parent.includes(MARK) && !specifier.includes(MARK)) return next(specifier, context)
      if (parent.startsWith(old) && specifier.startsWith('.'))
        return { url: `${new URL(specifier, parent).href}?${MARK}`, shortCircuit: true }
      // The old files know no packages where they lie: they find them from the place of today's.
      const from = parent.startsWith(old) ? `${today}${parent.slice(old.length)}` : parent
      const found = next(specifier, { ...context, parentURL: from })
      const plain = found.url.split('?')[0] ?? ''
      const path = plain.slice(today.length)
      if (!plain.startsWith(today) || !twofold.some((part) => path.startsWith(part))) return { ...found, url: plain }
      return { ...found, url: `${isArchived(path) ? old : today}${path}?${MARK}` }
    },
    load(url, context, next) {
      if (!url.startsWith(old)) return next(url, context)
      // Node strips no types below node_modules.
      const source = stripTypeScriptTypes(readFileSync(fileURLToPath(url.split('?')[0] ?? ''), 'utf8'))
      return {
        format: 'module',
        shortCircuit: true,
        source: source.replace(CONTRACT, `$1 fromOthers: Object.keys(shapes.commands),`),
      }
    },
  })
}

/** What only tests use goes with the tests, which are today's. */
const isArchived = (path: string): boolean =>
  ARCHIVED.some((part) => path.startsWith(`${part}/`)) && !path.endsWith('.contract.ts') && existsSync(join(folder, path))
