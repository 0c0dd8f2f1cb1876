import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { openTemporaryNetwork } from './temporary-network.ts'

/** Runs a child process on the file and kills it after the given number of answers. @returns the reported answers */
async function workUntilKilled(path: string, answers: number): Promise<string[]> {
  const child = spawn(process.execPath, [fileURLToPath(new URL('./crash.child.ts', import.meta.url)), path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exit = once(child, 'close')
  const lines: string[] = []
  for await (const line of createInterface(child.stdout)) {
    lines.push(line)
    if (lines.length === answers) child.kill('SIGKILL')
  }
  expect(await exit).toEqual([null, 'SIGKILL'])
  return lines
}

test('after kill -9 every answered call is stored, no operation is incomplete and no satoshi is missing', async () => {
  const network = openTemporaryNetwork()
  try {
    const { totalMsat } = network.simnet().control.balances()
    const reported: string[] = []
    for (const answers of [1, 7, 40, 83]) {
      await network.simnet().close()
      reported.push(...(await workUntilKilled(network.path, answers)))
      await network.reopen()
      expect(network.simnet().control.balances().totalMsat).toBe(totalMsat)
    }
    const { control, ...simnet } = network.simnet()
    const [market, seller] = [simnet.lightning('market'), simnet.lightning('seller-ada')]
    const idsOf = (kind: string): string[] =>
      reported.flatMap((line) => (line.startsWith(`${kind} `) ? [line.slice(kind.length + 1)] : []))
    const [settled, cancelled] = [idsOf('settled'), idsOf('cancelled')]
    expect(settled.length).toBeGreaterThan(0)
    for (const hash of settled)
      expect([control.payment(hash)?.state, (await market.holds.find(hash))?.state]).toEqual(['SUCCEEDED', 'settled'])
    for (const hash of cancelled)
      expect([control.payment(hash)?.state, (await market.holds.find(hash))?.state]).toEqual(['FAILED', 'cancelled'])
    for (const hash of idsOf('held')) expect(await market.holds.find(hash)).toMatchObject({ htlcs: [{ amountMsat: 5_000_000n }] })
    const channels = new Set((await seller.channels.list()).map(({ outpoint }) => outpoint))
    expect(idsOf('prepared').filter((outpoint) => !channels.has(outpoint))).toEqual([])
    for (const outpoint of idsOf('published')) expect(await simnet.chain().output(outpoint, 0)).toBeDefined()
  } finally {
    await network.drop()
  }
})
