import { campaign, STORES } from './campaign.ts'
import { runCommand, shown } from './command.ts'
import { lacking } from './struck.ts'

/** `npm run faults -- --rounds 1000 [--seed N] [--store kurrentdb]`: kills the market again and again, and its store too. */
await runCommand({
  script: 'faults',
  rounds: { standard: 8, most: 100_000, perFolder: 25 },
  stores: STORES,
  campaign,
  struck: ({ struck: { killed, failovers, reorged, asked }, unproven, blows }) =>
    `${blows.length > 0 ? `store: ${blows.join(', ')}; ` : ''}${killed.length} kills with ${killed.join(', ')} orders open, ${failovers} failovers, ${reorged} re-orged, ${unproven} on the chain alone, asked ${shown(asked)}`,
  lacking,
})
