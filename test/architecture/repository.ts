import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { listCheckoutFiles } from '../support/git.ts'
import { type Source, parseSource } from './source.ts'

export const REPOSITORY_ROOT = join(import.meta.dirname, '../..')

/** Every file that git tracks, and every new file that git does not ignore. */
export const repositoryFiles = listCheckoutFiles(REPOSITORY_ROOT)

export const readRepositoryFile = (path: string): string => readFileSync(join(REPOSITORY_ROOT, path), 'utf8')

/** The sources that persons write. */
export const repositorySources: readonly Source[] = repositoryFiles
  .filter((path) => path.endsWith('.ts') && !path.includes('/generated/'))
  .map((path) => parseSource(path, readRepositoryFile(path)))
