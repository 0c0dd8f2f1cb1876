// `node sbom.mjs <pnpm@version> <file>`
// Writes the bill of materials of the current folder: the packages of pnpm's lockfile that node_modules still contains.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [pnpm, file] = process.argv.slice(2)
const filters = ['--filter', './packages/*', '--filter', './services/*']
const format = ['--sbom-format', 'cyclonedx', '--sbom-spec-version', '1.6', '--sbom-type', 'application']
const bill = JSON.parse(
  execFileSync('npx', ['--yes', pnpm, 'sbom', '--prod', ...format, ...filters], { encoding: 'utf8', maxBuffer: 64 << 20 }),
)

const STORE = 'node_modules/.pnpm'
const nameOf = ({ group, name, version }) => `${group ? `${group}/` : ''}${name}@${version}`
const fromElsewhere = storedPackages()
const installed = new Set([...ownPackages(), ...fromElsewhere])

const kept = bill.components.filter((component) => installed.has(nameOf(component)))
const refs = new Set([bill.metadata.component, ...kept].map((component) => component['bom-ref']))
const missing = fromElsewhere.filter((name) => !kept.some((component) => nameOf(component) === name))
if (missing.length > 0) throw new Error(`the bill of materials lacks ${missing.join(', ')}`)

const dependencies = bill.dependencies
  .filter(({ ref }) => refs.has(ref))
  .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((other) => refs.has(other)) }))
writeFileSync(file, `${JSON.stringify({ ...bill, components: kept, dependencies }, null, 2)}\n`)

function ownPackages() {
  return ['packages', 'services'].flatMap((group) => readdirSync(group).flatMap((name) => packageIn(join(group, name))))
}

/** Each folder of pnpm's store contains a package and links to its dependencies. The links are skipped. */
function storedPackages() {
  return readdirSync(STORE)
    .map((name) => join(STORE, name, 'node_modules'))
    .filter((folder) => folder !== join(STORE, 'node_modules', 'node_modules') && existsSync(folder))
    .flatMap((folder) => readdirSync(folder, { withFileTypes: true }).map((entry) => [folder, entry]))
    .flatMap(([folder, entry]) =>
      entry.name.startsWith('@') && entry.isDirectory()
        ? readdirSync(join(folder, entry.name), { withFileTypes: true }).map((scoped) => [join(folder, entry.name), scoped])
        : [[folder, entry]],
    )
    .filter(([, entry]) => entry.isDirectory())
    .flatMap(([folder, entry]) => packageIn(join(folder, entry.name)))
}

function packageIn(folder) {
  const path = join(folder, 'package.json')
  if (!existsSync(path)) return []
  const { name, version } = JSON.parse(readFileSync(path, 'utf8'))
  return [`${name}@${version}`]
}
