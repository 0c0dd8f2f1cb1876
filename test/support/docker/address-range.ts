import { runSuccessfully } from '../processes.ts'

const FIRST_RANGE = 20
const LAST_RANGE = 30

const runIp = async (...args: readonly string[]): Promise<readonly string[]> =>
  (await runSuccessfully('ip', args)).stdout.split('\n').filter((line) => line !== '')

const prefixOf = (range: string): string => range.replace(/0\.0\/16$/, '')

/**
 * Reserves a /16 range of private addresses that is unused on this machine, for the networks of one engine. A route makes the
 * range unreachable unless a bridge exists, so packets to a removed container never leave the machine.
 */
export async function reserveAddressRange(): Promise<string> {
  const used = [...(await runIp('-4', 'route', 'show', 'table', 'all')), ...(await runIp('-o', '-4', 'addr', 'show'))]
  for (let second = FIRST_RANGE; second <= LAST_RANGE; second++) {
    const range = `172.${second}.0.0/16`
    if (used.some((line) => line.includes(`172.${second}.`))) continue
    await runSuccessfully('ip', ['route', 'add', 'unreachable', range, 'metric', '4000000000'])
    return range
  }
  throw new Error(`Every range from 172.${FIRST_RANGE}.0.0/16 to 172.${LAST_RANGE}.0.0/16 is in use on this machine.`)
}

/** Lists the network bridges in a range. They remain after the end of an engine. */
export const listBridges = async (range: string): Promise<readonly string[]> =>
  (await runIp('-o', '-4', 'addr', 'show'))
    .filter((line) => line.includes(` ${prefixOf(range)}`))
    .flatMap((line) => line.split(/\s+/)[1] ?? [])

export async function removeBridges(range: string, bridges: readonly string[]): Promise<void> {
  for (const bridge of bridges) await runSuccessfully('ip', ['link', 'delete', bridge])
  await runSuccessfully('ip', ['route', 'del', 'unreachable', range, 'metric', '4000000000']).catch(() => undefined)
}
