import { reads } from './sabotage-clocks.ts'
import { doors } from './sabotage-doors.ts'
import { guards } from './sabotage-guards.ts'
import { payers } from './sabotage-money.ts'
import { readers } from './sabotage-views.ts'
import { tellers } from './sabotage-streams.ts'
import type { Sabotage } from './sabotage-tools.ts'

/** Small faults of a market that steals or forgets, to know that the checks can fail. */
export const sabotages: Readonly<Record<string, Sabotage>> = { ...doors, ...payers, ...guards, ...readers, ...tellers, ...reads }
