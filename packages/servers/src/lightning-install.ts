import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { homedir, setPriority } from 'node:os'
import { join } from 'node:path'

/** The versions stand in its go.mod; to change one, edit the `require` of lnd and the `replace` lines that its own go.mod has. */
const module = join(import.meta.dirname, 'lightning-programs')
/**
 * The tags of lnd's releases less watchtowers and other databases; lowscrypt makes a wallet's password cheap to check,
 * which is right for tests alone: three nodes start in 1.5 s instead of 6 s and need a quarter of the memory.
 */
const TAGS = 'autopilotrpc chainrpc invoicesrpc monitoring neutrinorpc peersrpc signrpc walletrpc lowscrypt'
/**
 * Nobody debugs these binaries, and much of the time to build them goes into inlining what lnd's own packages call: without
 * both it takes two minutes and a half on two cores instead of four. `npm run bench:lightning` shows no difference.
 */
const COMPILER = ['-gcflags', 'all=-dwarf=false', '-gcflags', 'github.com/lightningnetwork/lnd/...=-l -dwarf=false']
const FLAGS = ['-trimpath', '-buildvcs=false', ...COMPILER, '-ldflags', '-s -w', '-tags', TAGS]
const LEAST_GO = [1, 24] as const
const LOW_PRIORITY = 10

export type LightningPrograms = { readonly btcd: string; readonly lnd: string }

/**
 * Builds btcd and lnd into the cache, once per version: into a folder beside, then renamed, so that an interrupted or
 * parallel build never leaves half of one. The first time takes minutes; it is said on standard error.
 * @throws Error where neither the cache nor Go has them
 */
export async function installLightning(): Promise<LightningPrograms> {
  const { version, folder } = await place()
  if (!existsSync(folder)) {
    await mkdir(join(folder, '..'), { recursive: true })
    const partial = await mkdtemp(`${folder}.partial-`)
    try {
      process.stderr.write(`Building lnd ${version} and btcd into ${folder}; the first time this takes some minutes.\n`)
      await build(partial)
      await chmod(partial, 0o755)
      await rename(partial, folder)
    } catch (error) {
      await rm(partial, { recursive: true, force: true })
      // Else another process has just put the same there.
      if (!existsSync(folder)) throw error
    }
  }
  return { btcd: join(folder, 'btcd'), lnd: join(folder, 'lnd') }
}

/** @returns why no lnd can run on this machine, in a sentence; undefined where one can */
export async function lightningMissing(): Promise<string | undefined> {
  if (existsSync((await place()).folder)) return undefined
  const said = goVersion()
  const [, major = 0, minor = 0] = (/go(\d+)\.(\d+)/.exec(said ?? '') ?? []).map(Number)
  const isEnough = major > LEAST_GO[0] || (major === LEAST_GO[0] && minor >= LEAST_GO[1])
  return isEnough ? undefined : `lnd needs Go ${LEAST_GO.join('.')} or newer once, to be built, and here is ${said ?? 'none'}.`
}

async function place(): Promise<{ readonly version: string; readonly folder: string }> {
  const [mod, sums] = await Promise.all(['go.mod', 'go.sum'].map((name) => readFile(join(module, name), 'utf8')))
  const version = /^require github\.com\/lightningnetwork\/lnd (\S+)$/m.exec(mod ?? '')?.[1]
  if (version === undefined) throw new Error(`${module}/go.mod names no version of lnd`)
  const digest = createHash('sha256')
    .update([mod, sums, ...FLAGS].join('\n'))
    .digest('hex')
    .slice(0, 12)
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  return { version, folder: join(cache, 'penstock', 'lightning', `lnd-${version}-${digest}`) }
}

async function build(into: string): Promise<void> {
  const go = spawn('go', ['install', ...FLAGS, 'tool'], {
    cwd: module,
    env: { ...process.env, CGO_ENABLED: '0', GOBIN: into, GOFLAGS: '-mod=readonly', GOWORK: 'off' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  go.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-4000)))
  await once(go, 'spawn')
  // Whoever works on the machine meanwhile should not notice much of it.
  if (go.pid !== undefined) setPriority(go.pid, LOW_PRIORITY)
  const [code, signal] = (await once(go, 'close')) as [number | null, NodeJS.Signals | null] // as Node documents it
  if (code !== 0) throw new Error(`go could not build lnd (${signal ?? code}):\n${said}`)
}

function goVersion(): string | undefined {
  try {
    return execFileSync('go', ['version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return undefined
  }
}
