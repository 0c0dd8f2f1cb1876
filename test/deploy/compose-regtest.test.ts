import { execFile } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { readConfig, unknownSettings } from '@penstock/runtime/config.ts'
import { readTerms } from '@penstock/seller-agent/terms-file.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { scratch } from '../harness/product.ts'
import { BUILT_WITHIN_MS, composeFile, composeMissing, oursOf, type Project, root } from './compose.ts'

const run = promisify(execFile)
const deployed = (script: string): string => join(root, 'deploy/regtest', script)

describe.skipIf(composeMissing !== undefined)('docker-compose.regtest.yml', () => {
  const file = composeFile('docker-compose.regtest.yml')
  let services: Project['services']
  beforeAll(async () => {
    if (composeMissing === undefined) ({ services } = await file.project())
  }, BUILT_WITHIN_MS)
  const ours = () => oursOf({ services })

  test('is right, for docker compose itself', async () => {
    expect(await file.said()).toEqual({ stdout: '', stderr: '' })
  })

  test('every image has its version, and lnd the one that is tested', () => {
    const foreign = Object.values(services).map(({ image }) => image)
    expect(foreign.filter((image) => !/^(penstock:local|[a-z]+\/[a-z]+:v?\d[\w.-]*)$/.test(image))).toEqual([])
    const module = readFileSync(join(root, 'packages/servers/src/lightning-programs/go.mod'), 'utf8')
    const tested = /^require github\.com\/lightningnetwork\/lnd (\S+)$/m.exec(module)?.[1]
    const lnd = foreign.filter((image) => image.startsWith('lightninglabs/lnd'))
    expect(new Set(lnd)).toEqual(new Set([`lightninglabs/lnd:${tested}`]))
  })

  test('the code accepts what it is given, and runs scripts that are there', () => {
    for (const [, { environment = {} }] of ours()) {
      expect(unknownSettings(environment)).toEqual([])
      readConfig(environment)
    }
    const scripts = ours().flatMap(([, { command }]) => command?.[0] ?? [])
    expect(scripts.filter((script) => !existsSync(join(root, script)))).toEqual(['--input-type=module'])
    for (const terms of ['ada', 'bob']) expect(readTerms(join(root, `deploy/regtest/${terms}.json`)).autoAccept).toBe(true)
  })

  test('nobody has the rights of another, and only who bakes has the nodes', () => {
    const having = (prefix: string) =>
      ours().map(([name, { volumes = [] }]) => [
        name,
        volumes.filter(({ source }) => source.startsWith(prefix)).map(({ source }) => source),
      ])
    expect(Object.fromEntries(having('rights-'))).toMatchObject({
      market: ['rights-market'],
      'seller-ada': ['rights-ada'],
      'seller-bob': ['rights-bob'],
    })
    expect(Object.fromEntries(having('lnd-'))).toMatchObject({ market: [], 'seller-ada': [], 'seller-bob': [] })
  })

  test('the market starts on nodes that have channels; its port is open on loopback only', () => {
    expect(services['market']?.depends_on).toMatchObject({
      macaroons: { condition: 'service_completed_successfully' },
      liquidity: { condition: 'service_completed_successfully' },
    })
    const open = Object.values(services).flatMap(({ ports = [] }) => ports)
    expect(open.map(({ host_ip }) => host_ip)).toEqual(['127.0.0.1'])
  })

  test('sellers come when they were admitted, and a chain that nobody mines stays young', () => {
    for (const seller of ['seller-ada', 'seller-bob'])
      expect(services[seller]?.depends_on).toMatchObject({ rails: { condition: 'service_completed_successfully' } })
    expect(services['rails']?.depends_on).toMatchObject({ market: { condition: 'service_healthy' } })
    const keys = (name: string) => services[name]?.volumes?.find(({ source }) => source === 'keys')
    expect([keys('liquidity')?.read_only ?? false, keys('rails')?.read_only]).toEqual([false, true])
    expect(services['blocks']?.depends_on).toMatchObject({ chain: { condition: 'service_completed_successfully' } })
  })

  test('what is mounted out of the repository is there', () => {
    const binds = Object.values(services).flatMap(({ volumes = [] }) => volumes.filter(({ type }) => type === 'bind'))
    expect(binds.filter(({ source }) => !existsSync(source)).map(({ source }) => source)).toEqual([])
  })

  test('its shell scripts can be read by a shell', async () => {
    for (const script of ['chain.sh', 'freshen.sh', 'liquidity.sh', 'rails.sh']) await run('bash', ['-n', deployed(script)])
  })

  /** Runs a script with programs of our own, each of which writes down how it was called. */
  async function called(script: string, programs: Readonly<Record<string, string>>, env: Readonly<Record<string, string>> = {}) {
    const folder = scratch()
    for (const [name, body] of Object.entries(programs))
      writeFileSync(join(folder, name), `#!/bin/sh\necho "${name} $*" >>${folder}/calls\n${body}\n`, { mode: 0o755 })
    const PATH = `${folder}:${process.env['PATH']}`
    await run('sh', [deployed(script)], { env: { ...env, PATH } }).catch(() => undefined)
    return readFileSync(join(folder, 'calls'), 'utf8').trimEnd().split('\n')
  }

  test('both sellers are admitted by their keys', async () => {
    const keys = scratch()
    for (const seller of ['ada', 'bob']) writeFileSync(join(keys, seller), `02${seller}\n`)
    const reason = '--reason Seller of the demonstration.'
    expect(await called('rails.sh', { penstock: '' }, { KEYS: keys })).toEqual(
      ['ada', 'bob'].map((seller) => `penstock seller grant 02${seller} ${reason}`),
    )
  })

  test('a block is made where the newest is old, and only there', async () => {
    const made = async (ageSeconds: number) => {
      const time = Math.floor(Date.now() / 1000) - ageSeconds
      const calls = await called('freshen.sh', {
        'bitcoin-cli': `case "$*" in *getblockheader*) printf '{\\n  "time": ${time},\\n  "mediantime": 1\\n}\\n' ;; esac`,
        // It would go on for ever.
        sleep: 'kill $PPID',
      })
      return calls.filter((call) => call.endsWith('-rpcwallet=miner -generate 1')).length
    }
    expect([await made(7200), await made(60)]).toEqual([1, 0])
  })
})
