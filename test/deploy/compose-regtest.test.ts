import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig, findUnknownSettings } from '@penstock/config/config.ts'
import { readTerms } from '@penstock/seller-agent/terms-file.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { makeTempFolder } from '../support/product.ts'
import {
  BUILD_TIMEOUT_MS,
  listBuilds,
  readComposeFile,
  composeSkipReason,
  listOwnServices,
  type ComposeProject,
  listRestartedForever,
  COMPOSE_ROOT,
  listWithoutInit,
} from './compose.ts'
import { runSuccessfully } from '../support/processes.ts'

const deployedFiles = (script: string): string => join(COMPOSE_ROOT, 'deploy/regtest', script)

describe.skipIf(composeSkipReason !== undefined)('docker-compose.regtest.yml', () => {
  const file = readComposeFile('docker-compose.regtest.yml')
  let services: ComposeProject['services']
  beforeAll(async () => {
    if (composeSkipReason === undefined) ({ services } = await file.project())
  }, BUILD_TIMEOUT_MS)
  const ownServices = () => listOwnServices({ services })

  test('passes the check of docker compose', async () => {
    expect(await file.said()).toEqual({ stdout: '', stderr: '' })
  })

  test('every image has a fixed version, and the version of lnd is the version that tests use', () => {
    const images = Object.values(services).map(({ image }) => image)
    expect(images.filter((image) => !/^(penstock:local|[a-z]+\/[a-z]+:v?\d[\w.-]*)$/.test(image))).toEqual([])
    const module = readFileSync(join(COMPOSE_ROOT, 'packages/servers/src/lightning-programs/go.mod'), 'utf8')
    const tested = /^require github\.com\/lightningnetwork\/lnd (\S+)$/m.exec(module)?.[1]
    const lnd = images.filter((image) => image.startsWith('lightninglabs/lnd'))
    expect(new Set(lnd)).toEqual(new Set([`lightninglabs/lnd:${tested}`]))
  })

  test('the code accepts the settings of every own service, and every script that a service runs exists', () => {
    for (const [name, { environment = {} }] of ownServices()) {
      expect(findUnknownSettings(environment)).toEqual([])
      // `rails` runs the command line. No service reads its setting.
      expect(Object.hasOwn(environment, 'PENSTOCK_URL')).toBe(name === 'rails')
      readConfig(environment)
    }
    const scripts = ownServices().flatMap(([, { command }]) => command?.[0] ?? [])
    expect(scripts.filter((script) => !existsSync(join(COMPOSE_ROOT, script)))).toEqual(['--input-type=module'])
    for (const terms of ['ada', 'bob'])
      expect(readTerms(join(COMPOSE_ROOT, `deploy/regtest/${terms}.json`)).autoAccept).toBe(true)
  })

  test('one service builds the image, no one-shot service restarts for ever, and own services receive signals', () => {
    expect(listBuilds({ services })).toEqual({ builds: ['macaroons'], pulled: [] })
    expect([listRestartedForever({ services }), listWithoutInit({ services })]).toEqual([[], []])
  })

  test('every service has no capabilities, a memory limit and a read-only file system', () => {
    for (const [name, { cap_drop, security_opt, mem_limit, read_only }] of Object.entries(services))
      expect([name, cap_drop, security_opt, Number(mem_limit), read_only]).toEqual([
        name,
        ['ALL'],
        ['no-new-privileges:true'],
        1 << 30,
        true,
      ])
    const added = Object.entries(services).flatMap(([name, { cap_add = [] }]) => cap_add.map((right) => `${name} ${right}`))
    expect(added).toEqual(['macaroons CHOWN'])
  })

  test('no service mounts macaroons of another service, and neither the market nor a seller mounts the data of a node', () => {
    const mountedVolumes = (prefix: string) =>
      ownServices().map(([name, { volumes = [] }]) => [
        name,
        volumes.filter(({ source }) => source.startsWith(prefix)).map(({ source }) => source),
      ])
    expect(Object.fromEntries(mountedVolumes('rights-'))).toMatchObject({
      market: ['rights-market'],
      'seller-ada': ['rights-ada'],
      'seller-bob': ['rights-bob'],
    })
    expect(Object.fromEntries(mountedVolumes('lnd-'))).toMatchObject({ market: [], 'seller-ada': [], 'seller-bob': [] })
  })

  test('the market starts after the nodes have channels, and its port is open on loopback only', () => {
    expect(services['market']?.depends_on).toMatchObject({
      macaroons: { condition: 'service_completed_successfully' },
      liquidity: { condition: 'service_completed_successfully' },
    })
    const open = Object.values(services).flatMap(({ ports = [] }) => ports)
    expect(open.map(({ host_ip }) => host_ip)).toEqual(['127.0.0.1'])
  })

  test('sellers start after their admission, and the service that refreshes the chain starts after the chain is created', () => {
    for (const seller of ['seller-ada', 'seller-bob'])
      expect(services[seller]?.depends_on).toMatchObject({ rails: { condition: 'service_completed_successfully' } })
    expect(services['rails']?.depends_on).toMatchObject({ market: { condition: 'service_healthy' } })
    const keys = (name: string) => services[name]?.volumes?.find(({ source }) => source === 'keys')
    expect([keys('liquidity')?.read_only ?? false, keys('rails')?.read_only]).toEqual([false, true])
    expect(services['blocks']?.depends_on).toMatchObject({ chain: { condition: 'service_completed_successfully' } })
  })

  test('every file of the repository that a service mounts exists', () => {
    const binds = Object.values(services).flatMap(({ volumes = [] }) => volumes.filter(({ type }) => type === 'bind'))
    expect(binds.filter(({ source }) => !existsSync(source)).map(({ source }) => source)).toEqual([])
  })

  test('the shell scripts of the services have valid syntax', async () => {
    for (const script of ['chain.sh', 'freshen.sh', 'liquidity.sh', 'rails.sh'])
      await runSuccessfully('bash', ['-n', deployedFiles(script)])
  })

  /** Runs a script with stub programs that record their calls. @returns the calls */
  async function callsOf(script: string, programs: Readonly<Record<string, string>>, env: Readonly<Record<string, string>> = {}) {
    const folder = makeTempFolder()
    for (const [name, body] of Object.entries(programs))
      writeFileSync(join(folder, name), `#!/bin/sh\necho "${name} $*" >>${folder}/calls\n${body}\n`, { mode: 0o755 })
    const PATH = `${folder}:${process.env['PATH']}`
    await runSuccessfully('sh', [deployedFiles(script)], { env: { ...env, PATH } }).catch(() => undefined)
    return readFileSync(join(folder, 'calls'), 'utf8').trimEnd().split('\n')
  }

  test('rails.sh admits both sellers by their keys', async () => {
    const keys = makeTempFolder()
    for (const seller of ['ada', 'bob']) writeFileSync(join(keys, seller), `02${seller}\n`)
    const reason = '--reason Seller of the demonstration.'
    expect(await callsOf('rails.sh', { penstock: '' }, { KEYS: keys })).toEqual(
      ['ada', 'bob'].map((seller) => `penstock seller grant 02${seller} ${reason}`),
    )
  })

  test('freshen.sh mines a block only if the newest block is old', async () => {
    const countMinedBlocks = async (ageSeconds: number) => {
      const time = Math.floor(Date.now() / 1000) - ageSeconds
      const calls = await callsOf('freshen.sh', {
        'bitcoin-cli': `case "$*" in *getblockheader*) printf '{\\n  "time": ${time},\\n  "mediantime": 1\\n}\\n' ;; esac`,
        // The real script would run for ever.
        sleep: 'kill $PPID',
      })
      return calls.filter((call) => call.endsWith('-rpcwallet=miner -generate 1')).length
    }
    expect([await countMinedBlocks(7200), await countMinedBlocks(60)]).toEqual([1, 0])
  })
})
