import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { runProgramSync, runSuccessfullySync } from '../test/support/processes.ts'
import { CACHE_FOLDER } from '../test/support/cache-folder.ts'

/** The pinned versions of Schemathesis and its dependencies. */
const requirementsFile = join(import.meta.dirname, 'schemathesis.txt')
const MIN_PYTHON = [3, 10] as const
const FETCH_TIMEOUT_MS = 300_000

/** @returns a sentence why Schemathesis cannot run on this machine; undefined if it can, or can be installed */
export function explainMissingSchemathesis(): string | undefined {
  const [, major = 0, minor = 0] = /^Python (\d+)\.(\d+)/.exec(runPython(['--version']) ?? '')?.map(Number) ?? []
  if (major !== MIN_PYTHON[0] || minor < MIN_PYTHON[1])
    return `Schemathesis needs Python ${MIN_PYTHON.join('.')} or newer; this machine has ${runPython(['--version']) ?? 'none'}.`
  if (existsSync(locateCacheFolder()) || runPython(['-m', 'pip', '--version']) !== undefined) return undefined
  return 'Schemathesis is installed with pip, and the Python of this machine has no pip.'
}

/**
 * Installs Schemathesis into the cache once: first into a temporary folder, so that an incomplete copy is never used.
 * @returns the folder for PYTHONPATH
 * @throws Error if pip cannot fetch it
 */
export function installSchemathesis(): string {
  const target = locateCacheFolder()
  if (existsSync(target)) return target
  mkdirSync(join(target, '..'), { recursive: true })
  const partial = mkdtempSync(join(target, '../partial-'))
  try {
    const args = [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--only-binary',
      ':all:',
      '--target',
      join(partial, 'site'),
      '-r',
      requirementsFile,
    ]
    runSuccessfullySync('python3', args, { timeout: FETCH_TIMEOUT_MS })
    renameSync(join(partial, 'site'), target)
    return target
  } finally {
    rmSync(partial, { recursive: true, force: true })
  }
}

/** Returns the cache folder for the pinned versions and the machine's Python. */
function locateCacheFolder(): string {
  const key = createHash('sha256')
    .update(readFileSync(requirementsFile))
    .update(runPython(['--version']) ?? '')
    .digest('hex')
  return join(CACHE_FOLDER, 'schemathesis', key.slice(0, 16))
}

function runPython(args: readonly string[]): string | undefined {
  const { code, stdout } = runProgramSync('python3', args)
  return code === 0 ? stdout.trim() : undefined
}
