import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { scratchSimnet } from './scratch.ts'

/** Lets a process of its own work on the file and kills it after so many answers. @returns everything that it was answered */
async function workUntilKilled(path: string, answers: number): Promise<string[]> {
  const child = spawn(process.execPath, [fileURLToPath(new URL('./crash.child.ts', import.meta.url)), path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const gone = once(child, 'close')
  const lines: string[] = []
  for await (const line of createInterface(child.stdout)) {
    lines.push(line)
    if (lines.length === answers) child.kill('SIGKILL')
  }
  expect(await gone).toEqual([null, 'SIGKILL'])
  return lines
}

test('kill -9 at any moment: what was answered is there, nothing is half done, no satoshi is missing', async () => {
  const scratch = scratchSimnet()
  try {
    const { totalMsat } = scratch.simnet().control.balances()
    const said: string[] = []
    for (const answers of [1, 7, 40, 83]) {
      await scratch.simnet().close()
      said.push(...(await workUntilKilled(scratch.path, answers)))
      await scratch.reopen()
      expect(scratch.simnet().control.balances().totalMsat).toBe(totalMsat)
    }
    const { control, ...simnet } = scratch.simnet()
    const [market, seller] = [simnet.lightning('market'), simnet.lightning('seller-ada')]
    const about = (what: string): string[] =>
      said.flatMap((line) => (line.startsWith(`${what} `) ? [line.slice(what.length + 1)] : []))
    const [settled, cancelled] = [about('settled'), about('cancelled')]
    expect(settled.length).toBeGreaterThan(0)
    for (const hash of settled)
      expect([control.payment(hash)?.state, (await market.holds.find(hash))?.state]).toEqual(['SUCCEEDED', 'settled'])
    for (const hash of cancelled)
      expect([control.payment(hash)?.state, (await market.holds.find(hash))?.state]).toEqual(['FAILED', 'cancelled'])
    for (const hash of about('held')) expect(await market.holds.find(hash)).toMatchObject({ htlcs: [{ amountMsat: 5_000_000n }] })
    const channels = new Set((await seller.channels.list()).map(({ outpoint }) => outpoint))
    expect(about('prepared').filter((outpoint) => !channels.has(outpoint))).toEqual([])
    for (const outpoint of about('published')) expect(await simnet.chain().output(outpoint, 0)).toBeDefined()
  } finally {
    await scratch.drop()
  }
})

test('blocks come while it runs, and none while it is closed', async () => {
  const scratch = scratchSimnet({ blockSeconds: 0.02 })
  try {
    const tips = async (atLeast: number): Promise<void> => {
      const stop = new AbortController()
      for await (const { height } of scratch.simnet().chain().tips(stop.signal)) if (height >= atLeast) stop.abort()
    }
    const { height } = await scratch.simnet().chain().tip()
    await tips(height + 3)
    const market = scratch.simnet().lightning('market')
    await scratch.simnet().close()
    await expect(market.info()).rejects.toThrow('closed')
    await scratch.reopen()
    await tips(height + 5)
  } finally {
    await scratch.drop()
  }
})
