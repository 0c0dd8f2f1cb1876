import { campaign } from './campaign.ts'
import { runCommand } from './command.ts'

/** `npm run faults -- --rounds 1000 [--seed N]`: kills the market again and again. */
await runCommand({
  script: 'faults',
  rounds: { standard: 8, most: 100_000, perFolder: 25 },
  campaign,
  struck: ({ kills, unproven }) => `${kills} kills, ${unproven} on the chain alone`,
})
