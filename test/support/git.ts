import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { runProgramSync, runSuccessfullySync } from './processes.ts'

const ROOT = join(import.meta.dirname, '../..')

/** Lists the existing files of a checkout that git tracks or does not ignore. */
export const listCheckoutFiles = (root: string): readonly string[] =>
  runSuccessfullySync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: root })
    .stdout.split('\n')
    .filter((path) => path !== '' && existsSync(join(root, path)))

/** Returns the abbreviated commit id, with " with changes" if files differ from it, or 'unknown' outside of a clone. */
export function describeCheckout(): string {
  const [commit, changes] = [
    ['rev-parse', '--short', 'HEAD'],
    ['status', '--porcelain'],
  ].map((args) => runProgramSync('git', args, { cwd: ROOT }))
  if (commit?.code !== 0) return 'unknown'
  return changes?.stdout.trim() === '' ? commit.stdout.trim() : `${commit.stdout.trim()} with changes`
}
