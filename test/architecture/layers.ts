import { getImportedOwner, isTest, getOwner } from './paths.ts'
import type { Source } from './source.ts'

/** The packages that each package may import, from the lowest layer up. A new package needs an entry here. */
const allowedImports: Readonly<Record<string, readonly string[]>> = {
  kernel: [],
  client: [],
  outbound: [],
  bitcoin: ['kernel'],
  contracts: ['kernel'],
  ports: ['kernel'],
  'child-processes': ['kernel'],
  servers: ['kernel', 'child-processes'],
  market: ['kernel', 'contracts', 'ports'],
  'channel-proof': ['kernel', 'bitcoin', 'contracts', 'ports'],
  config: ['kernel', 'ports'],
  credentials: ['ports', 'config'],
  runtime: ['kernel', 'contracts', 'ports', 'config'],
  audit: ['kernel', 'contracts', 'ports', 'config', 'runtime'],
  adapters: ['kernel', 'bitcoin', 'outbound', 'ports', 'config', 'runtime'],
  platforms: ['kernel', 'contracts', 'outbound', 'ports', 'config', 'runtime', 'adapters', 'child-processes'],
  cli: ['kernel', 'client', 'contracts', 'config', 'runtime', 'platforms', 'standalone'],
}
const allowedServiceImports = [
  'kernel',
  'bitcoin',
  'contracts',
  'market',
  'channel-proof',
  'outbound',
  'ports',
  'config',
  'credentials',
  'runtime',
]

/** Packages import lower layers only, and services no other service. Only main.ts, standalone and cluster choose a platform. */
export const findLayerBreaches = (sources: readonly Source[]): readonly string[] =>
  sources.flatMap((source) =>
    source.imports.flatMap(({ specifier, line, isTypeOnly }) => {
      const imported = getImportedOwner(source.path, specifier)
      const fix = imported === undefined ? undefined : suggestLayerFix(source.path, imported, specifier, isTypeOnly)
      return fix === undefined ? [] : [`${source.path}:${line} imports ${specifier}: ${fix}`]
    }),
  )

function suggestLayerFix(path: string, imported: string, specifier: string, isTypeOnly: boolean): string | undefined {
  const owner = getOwner(path)
  if (isTest(path)) return undefined
  if (imported === owner) return specifier.startsWith('.') ? undefined : 'a file of the same package is imported by ./ or ../'
  if (specifier.startsWith('.')) return `another package is imported by its name, @penstock/${imported}/…`
  if (imported === 'testkit') return 'testkit is for tests; shipped code uses a port'
  const isService = path.startsWith('services/')
  if (imported === 'adapters' && owner !== 'platforms')
    return 'adapters are chosen in packages/platforms only; import the port from @penstock/ports'
  if (isService && imported === 'platforms')
    return isAssembly(path)
      ? undefined
      : 'only main.ts, services/standalone and services/cluster choose a platform; take ports as arguments'
  const allowed = isService ? allowedServiceImports : allowedImports[owner]
  if (allowed === undefined) return `${owner} has no layer yet; add its line to test/architecture/layers.ts`
  if (allowed.includes(imported)) return undefined
  if (!isService) return `${owner} may import ${allowed.join(', ') || 'nothing'}; move the shared part down to one of them`
  if (owner === 'standalone' || owner === 'cluster') return undefined
  if (imported === 'audit')
    return owner === 'gateway' && isTypeOnly ? undefined : 'only the gateway imports types of the audit; assemblies run it'
  return 'a service never imports a service; react to its facts in @penstock/contracts, or send it a command'
}

const isAssembly = (path: string): boolean =>
  path.startsWith('services/standalone/') || path.startsWith('services/cluster/') || path.endsWith('/main.ts')
