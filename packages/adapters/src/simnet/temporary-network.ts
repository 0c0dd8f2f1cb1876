import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../system/clock.ts'
import { openSimnet, type Simnet, type SimnetOptions } from './simnet.ts'

/** A network for one test, in a file of its own. It mines blocks only on request. */
export type TemporaryNetwork = {
  readonly path: string
  readonly simnet: () => Simnet
  /** Closes the network and opens the file again. */
  readonly reopen: () => Promise<void>
  /** Closes the network and deletes the file. */
  readonly drop: () => Promise<void>
}

export function openTemporaryNetwork(options: Partial<SimnetOptions> = {}): TemporaryNetwork {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-simnet-'))
  const path = join(folder, 'simnet.db')
  const open = (): Simnet => openSimnet({ path, blockSeconds: 0, clock: systemClock, ...options })
  let simnet = open()
  return {
    path,
    simnet: () => simnet,
    reopen: async () => {
      await simnet.close()
      simnet = open()
    },
    drop: async () => {
      await simnet.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
