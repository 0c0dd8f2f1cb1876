import { execFileSync } from 'node:child_process'

const git = (...given: readonly string[]): string =>
  execFileSync('git', given, { encoding: 'utf8', cwd: import.meta.dirname }).trim()

/** The commit that is checked out, in short, and whether anything differs from it. */
export function checkedOut(): string {
  try {
    const commit = git('rev-parse', '--short', 'HEAD')
    return git('status', '--porcelain') === '' ? commit : `${commit} with changes`
  } catch {
    return 'unknown'
  }
}

/** A long run loads its code again and again: what was changed on the way is a change. */
export const codeBetween = (begin: string, end: string): string =>
  begin === end || begin.endsWith(' with changes') ? begin : `${begin} with changes`
