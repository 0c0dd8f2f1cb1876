import { importedOwner, isTest, ownerOf } from './places.ts'
import type { Source } from './source.ts'

/** Who may import whom, lowest first. A new package gets its line here. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  kernel: [],
  bitcoin: ['kernel'],
  contracts: ['kernel'],
  market: ['kernel', 'contracts'],
  ports: ['kernel', 'bitcoin', 'contracts'],
  outbound: [],
  servers: [],
  runtime: ['kernel', 'bitcoin', 'contracts', 'ports'],
  adapters: ['kernel', 'bitcoin', 'contracts', 'outbound', 'ports', 'runtime'],
  platforms: ['kernel', 'bitcoin', 'contracts', 'outbound', 'ports', 'runtime', 'adapters'],
  cli: ['standalone', 'platforms'],
}
const serviceMayImport = ['kernel', 'bitcoin', 'contracts', 'market', 'outbound', 'ports', 'runtime']

/** Packages point downwards, services know no other service, and only an assembly (main.ts, standalone, cluster) chooses a platform. */
export const layerBreaches = (sources: readonly Source[]): readonly string[] =>
  sources.flatMap((source) =>
    source.imports.flatMap(({ specifier, line }) => {
      const imported = importedOwner(source.path, specifier)
      const mend = imported === undefined ? undefined : layerMend(source.path, imported, specifier)
      return mend === undefined ? [] : [`${source.path}:${line} imports ${specifier}: ${mend}`]
    }),
  )

function layerMend(path: string, imported: string, specifier: string): string | undefined {
  const owner = ownerOf(path)
  if (isTest(path)) return undefined
  if (imported === owner) return specifier.startsWith('.') ? undefined : 'a file of the same package is imported by ./ or ../'
  if (specifier.startsWith('.')) return `another package is imported by its name, @penstock/${imported}/…`
  if (imported === 'testkit') return 'testkit is for tests; shipped code takes what it needs from a port'
  const isService = path.startsWith('services/')
  if (imported === 'adapters' && owner !== 'platforms')
    return 'adapters are chosen in packages/platforms only; import the port from @penstock/ports'
  if (isService && imported === 'platforms')
    return isAssembly(path)
      ? undefined
      : 'only main.ts, services/standalone and services/cluster choose a platform; take ports as arguments'
  const allowed = isService ? serviceMayImport : mayImport[owner]
  if (allowed === undefined) return `${owner} has no layer yet; add its line to test/architecture/layers.ts`
  if (allowed.includes(imported)) return undefined
  if (!isService) return `${owner} may import ${allowed.join(', ') || 'nothing'}; move the shared part down to one of them`
  if (owner === 'standalone' || owner === 'cluster') return undefined
  return 'a service never imports a service; react to its facts in @penstock/contracts, or send it a command'
}

const isAssembly = (path: string): boolean =>
  path.startsWith('services/standalone/') || path.startsWith('services/cluster/') || path.endsWith('/main.ts')
