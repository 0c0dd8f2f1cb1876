import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { registerHooks, stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** The commit whose contracts run together with today's, as during a deployment. */
export const PINNED = '2bcc3f4'

const root = fileURLToPath(new URL('../..', import.meta.url))
const cache = join(root, 'node_modules/.cache/penstock')
const folder = join(cache, `contracts-${PINNED}`)

/** @returns why the earlier contracts cannot be had; undefined where they are there */
export function fetchPinned(): string | undefined {
  if (existsSync(folder)) return undefined
  const beside = `${folder}.${process.pid}`
  try {
    mkdirSync(beside, { recursive: true })
    const archive = execFileSync('git', ['archive', '--format=tar', PINNED, 'packages/contracts/src'], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: 64 << 20,
    })
    const unpacked = spawnSync('tar', ['-x', '-C', beside], { input: archive })
    if (unpacked.status !== 0) return `tar cannot unpack the contracts of ${PINNED}`
    renameSync(beside, folder)
    return undefined
  } catch {
    return existsSync(folder) ? undefined : `this clone does not have the commit ${PINNED} (a shallow one has not)`
  } finally {
    rmSync(beside, { recursive: true, force: true })
  }
}

const MARK = `contracts=${PINNED}`
const oldContracts = pathToFileURL(join(folder, 'packages/contracts/src/')).href
const todays = pathToFileURL(join(root, 'packages/contracts/src/')).href
/** What has contracts in it, directly or by what it imports. Everything else is the same for both: a Fault is a Fault. */
const twofold = ['packages/contracts/', 'packages/market/', 'packages/runtime/', 'services/', 'test/simulation/replica.ts'].map(
  (part) => pathToFileURL(join(root, part)).href,
)

/**
 * Loads a module and all that it imports a second time, with the contracts of the pinned commit in the place of today's:
 * the mark in a module's address is handed down to what it imports.
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
      // The old files know no packages where they lie: they find them from the place of today's.
      const from = parent.startsWith(oldContracts) && !specifier.startsWith('.') ? `${todays}all.ts` : parent
      const found = next(specifier, { ...context, parentURL: from })
      const plain = found.url.split('?')[0] ?? ''
      const url = plain.startsWith(todays) ? `${oldContracts}${plain.slice(todays.length)}` : plain
      const isTwofold = url.startsWith(oldContracts) || twofold.some((part) => url.startsWith(part))
      return { ...found, url: isTwofold ? `${url}?${MARK}` : url }
    },
    load(url, context, next) {
      if (!url.startsWith(oldContracts)) return next(url, context)
      // Node strips no types below node_modules.
      const source = readFileSync(fileURLToPath(url.split('?')[0] ?? ''), 'utf8')
      return { format: 'module', shortCircuit: true, source: stripTypeScriptTypes(source) }
    },
  })
}
