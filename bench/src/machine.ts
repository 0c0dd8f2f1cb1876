import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { cpus, release, totalmem, type } from 'node:os'
import { DatabaseSync } from 'node:sqlite'

/** What figures depend on, the code first; nothing that tells whose machine it is. */
export function machine(): readonly (readonly [string, string])[] {
  const models = [...new Set(cpus().map(({ model }) => model.trim()))].join(', ')
  return [
    ['commit', commit()],
    ['cores', `${cpus().length} (${models})`],
    ['memory', `${Math.round(totalmem() / 2 ** 30)} GiB`],
    ['kernel', `${type()} ${release()}`],
    ['disks', disks()],
    ['node', process.version],
    ['SQLite', sqliteVersion()],
    ['packages', packages()],
  ]
}

/** Outside of a clone of the repository nobody knows. */
function commit(): string {
  const git = (...words: readonly string[]): string =>
    execFileSync('git', words, { cwd: import.meta.dirname, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  try {
    const short = git('rev-parse', '--short', 'HEAD')
    return git('status', '--porcelain') === '' ? short : `${short}, with changes`
  } catch {
    return 'unknown'
  }
}

/** The kinds of block devices that Linux names. Behind a virtual one may be anything. */
function disks(): string {
  try {
    const kinds = readdirSync('/sys/block')
      .filter((device) => !/^(loop|ram|zram|dm-|sr|fd)/.test(device))
      .map(
        (device) =>
          `${device.replace(/\d+|[a-z]$/g, '')}, ${read(`/sys/block/${device}/queue/rotational`) === '1' ? 'said to rotate' : 'solid state'}`,
      )
    return [...new Set(kinds)].join('; ') || 'unknown'
  } catch {
    return 'unknown'
  }
}

const read = (path: string): string => readFileSync(path, 'utf8').trim()

function sqliteVersion(): string {
  const db = new DatabaseSync(':memory:')
  const row = db.prepare('select sqlite_version() as version').get()
  db.close()
  return String(row?.['version'])
}

/** Those that carry a figure, as the lockfile has them. */
const NAMED: readonly (readonly [string, string])[] = [
  ['bench', 'xstate'],
  ['packages/adapters', 'kysely'],
  ['services/gateway', '@apollo/server'],
  ['services/gateway', 'express'],
  ['services/gateway', 'graphql'],
]

const packages = (): string =>
  NAMED.map(([folder, name]) => {
    const manifest = new URL(`../../${folder}/node_modules/${name}/package.json`, import.meta.url)
    const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string } // every package has one
    return `${name} ${version}`
  }).join(', ')
