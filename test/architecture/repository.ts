import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Source, source } from './source.ts'

export const root = join(import.meta.dirname, '../..')

/** Every file that git keeps or would keep: what is ignored is nobody's business here. */
export const files: readonly string[] = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path !== '' && existsSync(join(root, path)))

export const read = (path: string): string => readFileSync(join(root, path), 'utf8')

export const sources: readonly Source[] = files.filter((path) => path.endsWith('.ts')).map((path) => source(path, read(path)))
