import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../system/clock.ts'
import { openSimnet, type Simnet, type SimnetOptions } from './simnet.ts'

/** A network of a test's own, in a file of its own, that makes blocks only when told. */
export type Scratch = {
  readonly path: string
  readonly simnet: () => Simnet
  /** Closes it and opens the file again. */
  readonly reopen: () => Promise<void>
  /** Closes it and deletes the file. */
  readonly drop: () => Promise<void>
}

export function scratchSimnet(options: Partial<SimnetOptions> = {}): Scratch {
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
