import { readdirSync, readFileSync } from 'node:fs'
import { cpus, release, totalmem, type } from 'node:os'
import { DatabaseSync } from 'node:sqlite'
import { describeCheckout } from '../../test/support/git.ts'

/** Renders the machine and the versions that the figures depend on as a table. @param versions further names and values */
export const renderMachineTable = (versions: readonly (readonly [string, string])[] = []): string =>
  ['| | |', '|---|---|', ...[...describeMachine(), ...versions].map(([name, value]) => `| ${name} | ${value} |`)].join('\n')

/** Lists the commit, the hardware and the versions, as names and values. The list does not identify the machine's owner. */
function describeMachine(): readonly (readonly [string, string])[] {
  const models = [...new Set(cpus().map(({ model }) => model.trim()))].join(', ')
  return [
    ['commit', describeCheckout()],
    ['cores', `${cpus().length} (${models})`],
    ['memory', `${Math.round(totalmem() / 2 ** 30)} GiB`],
    ['kernel', `${type()} ${release()}`],
    ['disks', listDisks()],
    ['node', process.version],
    ['SQLite', readSqliteVersion()],
    ['packages', listPackageVersions()],
  ]
}

/** Lists the kinds of block devices that Linux reports. A virtual device may report a kind that its hardware does not have. */
function listDisks(): string {
  try {
    const kinds = readdirSync('/sys/block')
      .filter((device) => !/^(loop|ram|zram|dm-|sr|fd)/.test(device))
      .map(
        (device) =>
          `${device.replace(/\d+|[a-z]$/g, '')}, ${readTrimmed(`/sys/block/${device}/queue/rotational`) === '1' ? 'rotational according to the kernel' : 'solid state'}`,
      )
    return [...new Set(kinds)].join('; ') || 'unknown'
  } catch {
    return 'unknown'
  }
}

const readTrimmed = (path: string): string => readFileSync(path, 'utf8').trim()

function readSqliteVersion(): string {
  const db = new DatabaseSync(':memory:')
  const row = db.prepare('select sqlite_version() as version').get()
  db.close()
  return String(row?.['version'])
}

/** Folder and name of each package that a figure depends on. The report contains the installed version. */
const REPORTED_PACKAGES: readonly (readonly [string, string])[] = [
  ['bench', 'xstate'],
  ['packages/adapters', 'kysely'],
  ['services/gateway', '@apollo/server'],
  ['services/gateway', 'express'],
  ['services/gateway', 'graphql'],
]

const listPackageVersions = (): string =>
  REPORTED_PACKAGES.map(([folder, name]) => {
    const manifest = new URL(`../../${folder}/node_modules/${name}/package.json`, import.meta.url)
    const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string } // every package has one
    return `${name} ${version}`
  }).join(', ')
