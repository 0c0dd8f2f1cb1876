import { campaign } from './campaign.ts'
import { runCommand, shown } from './command.ts'
import { lacking } from './struck.ts'

/** `npm run faults -- --rounds 1000 [--seed N]`: kills the market again and again. */
await runCommand({
  script: 'faults',
  rounds: { standard: 8, most: 100_000, perFolder: 25 },
  campaign,
  struck: ({ struck: { killed, failovers, reorged, asked }, unproven }) =>
    `${killed.length} kills with ${killed.join(', ')} orders open, ${failovers} failovers, ${reorged} re-orged, ${unproven} on the chain alone, asked ${shown(asked)}`,
  lacking,
})
