import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { homedir, setPriority } from 'node:os'
import { join } from 'node:path'

/**
 * The go.mod in this folder has the versions. To change lnd's version, edit the `require` line, and copy the `replace` lines
 * of lnd's own go.mod.
 */
const goModule = join(import.meta.dirname, 'lightning-programs')
/**
 * The tags of lnd's releases without watchtowers and other databases. The tag lowscrypt makes the check of a wallet's
 * password cheap, which is right only for tests. Three nodes then start in 1.5 s instead of 6 s and need a quarter of the
 * memory.
 */
const TAGS = 'autopilotrpc chainrpc invoicesrpc monitoring neutrinorpc peersrpc signrpc walletrpc lowscrypt'
/**
 * Omits debug information, which is not needed here, and inlining in lnd's own packages, which takes much of the build time.
 * The build takes 2.5 minutes on two cores instead of four minutes. `npm run bench:lightning` shows no difference.
 */
const COMPILER = ['-gcflags', 'all=-dwarf=false', '-gcflags', 'github.com/lightningnetwork/lnd/...=-l -dwarf=false']
const FLAGS = ['-trimpath', '-buildvcs=false', ...COMPILER, '-ldflags', '-s -w', '-tags', TAGS]
const MIN_GO = [1, 24] as const
const LOW_PRIORITY = 10

export type LightningPrograms = { readonly btcd: string; readonly lnd: string }

/**
 * Builds btcd and lnd into the cache, once per version. It renames a partial folder at the end, so that an interrupted or
 * parallel build never leaves an incomplete folder. The first build takes minutes, and is announced on standard error.
 * @throws Error if neither the cache nor Go has the programs
 */
export async function installLightning(): Promise<LightningPrograms> {
  const { version, folder } = await findInstallation()
  if (!existsSync(folder)) {
    await mkdir(join(folder, '..'), { recursive: true })
    const partial = await mkdtemp(`${folder}.partial-`)
    try {
      process.stderr.write(`Building lnd ${version} and btcd into ${folder}; the first time this takes some minutes.\n`)
      await buildPrograms(partial)
      await chmod(partial, 0o755)
      await rename(partial, folder)
    } catch (error) {
      await rm(partial, { recursive: true, force: true })
      // If the folder exists now, another process has just installed the same programs.
      if (!existsSync(folder)) throw error
    }
  }
  return { btcd: join(folder, 'btcd'), lnd: join(folder, 'lnd') }
}

/** @returns the reason why no lnd can run on this machine, as a sentence; undefined if lnd can run */
export async function explainMissingLightning(): Promise<string | undefined> {
  if (existsSync((await findInstallation()).folder)) return undefined
  const output = readGoVersion()
  const [, major = 0, minor = 0] = (/go(\d+)\.(\d+)/.exec(output ?? '') ?? []).map(Number)
  const isEnough = major > MIN_GO[0] || (major === MIN_GO[0] && minor >= MIN_GO[1])
  return isEnough ? undefined : `lnd needs Go ${MIN_GO.join('.')} or newer once, to be built, and here is ${output ?? 'none'}.`
}

async function findInstallation(): Promise<{ readonly version: string; readonly folder: string }> {
  const [mod, sums] = await Promise.all(['go.mod', 'go.sum'].map((name) => readFile(join(goModule, name), 'utf8')))
  const version = /^require github\.com\/lightningnetwork\/lnd (\S+)$/m.exec(mod ?? '')?.[1]
  if (version === undefined) throw new Error(`${goModule}/go.mod names no version of lnd`)
  const digest = createHash('sha256')
    .update([mod, sums, ...FLAGS].join('\n'))
    .digest('hex')
    .slice(0, 12)
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  return { version, folder: join(cache, 'penstock', 'lightning', `lnd-${version}-${digest}`) }
}

async function buildPrograms(into: string): Promise<void> {
  const go = spawn('go', ['install', ...FLAGS, 'tool'], {
    cwd: goModule,
    env: { ...process.env, CGO_ENABLED: '0', GOBIN: into, GOFLAGS: '-mod=readonly', GOWORK: 'off' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let output = ''
  go.stderr.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-4000)))
  await once(go, 'spawn')
  // The low priority keeps the machine usable during the build.
  if (go.pid !== undefined) setPriority(go.pid, LOW_PRIORITY)
  const [code, signal] = (await once(go, 'close')) as [number | null, NodeJS.Signals | null] // As Node documents 'close'
  if (code !== 0) throw new Error(`go could not build lnd (${signal ?? code}):\n${output}`)
}

function readGoVersion(): string | undefined {
  try {
    return execFileSync('go', ['version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return undefined
  }
}
