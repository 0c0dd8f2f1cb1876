import { superviseServer, type SupervisedServer, type Startable } from '@penstock/cluster/launcher/server-supervisor.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { describe, expect, it, onTestFinished } from 'vitest'
import { useLightningServers, isLightningMissing } from './servers.ts'

const FAST_TIMING = { intervalMs: 200, answerMs: 2000, maxMissingAnswers: 6, maxMissingAnswersAtStart: 6 }

/** The client of btcd throws an Error, and the client of lnd throws an array with the message. */
const isConnectionError = (error: unknown): boolean =>
  /ECONNREFUSED|does not answer now|[Cc]onnect/.test(JSON.stringify(error) + String(error))

describe.skipIf(isLightningMissing)('a supervised program of the Lightning network', () => {
  const servers = useLightningServers({ nodes: ['alice'] })

  it('does not answer while it is killed', { timeout: 60_000 }, async () => {
    for (const program of [servers().node('alice'), servers().chain]) {
      expect(await program.answers()).toBe(true)
      await program.kill()
      await expect(program.answers()).rejects.toSatisfy(isConnectionError)
      await program.start()
    }
  })

  it('answers while btcd hangs, if it is lnd', { timeout: 60_000 }, async () => {
    const { chain } = servers()
    process.kill(chain.pid ?? 0, 'SIGSTOP')
    try {
      expect(await servers().node('alice').answers()).toBe(true)
    } finally {
      process.kill(chain.pid ?? 0, 'SIGCONT')
    }
  })

  it.each([
    ['lnd', () => servers().node('alice')],
    ['btcd', () => servers().chain],
  ] as const)('is reported, killed and restarted if it hangs: %s', { timeout: 120_000 }, async (name, program) => {
    const node: Startable = program()
    const output: string[] = []
    const supervised: SupervisedServer = superviseServer(
      name,
      node,
      (who, line) => void output.push(`${who}  ${line}`),
      FAST_TIMING,
    )
    onTestFinished(() => supervised.stop())
    const before = node.pid ?? 0
    process.kill(before, 'SIGSTOP')
    await waitUntil('the hang is detected', () => supervised.state === 'starting', 30_000)
    await waitUntil('a new process runs', () => supervised.state === 'running' && node.pid !== before, 90_000, 50)
    expect(await node.answers()).toBe(true)
    expect(output.slice(0, 2)).toEqual([
      `${name}  has not answered 6 times in a row; it hangs and is killed`,
      `${name}  ended; restarting`,
    ])
  })
})
