import type { Random } from '@penstock/adapters/seeded/random.ts'
import { type Scene, type Tools, toolsOf } from './scene-tools.ts'
import { attestedLate, heldBack } from './scenes-attestations.ts'
import {
  changesOfMind,
  lastMoment,
  lateWord,
  lostInFees,
  nobodyWatches,
  operatorSteps,
  spentElsewhere,
} from './scenes-channel.ts'
import { approvals, latePayer, missed, outOfBlocks, shutDoor, tooLate } from './scenes-money.ts'
import {
  inventions,
  lostUnheard,
  overtaken,
  secondThoughts,
  thereAndBack,
  toldByTheOlder,
  wrongMeanwhile,
} from './scenes-outpoints.ts'
import { cancellingSlowly, oneInvoiceForTwo, quietEnd, settlingSlowly, twins, unpaid } from './scenes-payouts.ts'
import {
  closedEarly,
  invoiceAfterAll,
  lastOfIt,
  letGoFirst,
  lingering,
  onlySeller,
  outOfSight,
  takenAfterAll,
  tornOut,
} from './scenes-races.ts'
import { borneOrNot, borneUnpaid, decided, undoneSale, unheardLoss } from './scenes-refunds.ts'
import { brokenChannel, comingAndGoing, dearSeller, fullBook, lateSeller } from './scenes-sellers.ts'

const SCENES: readonly ((tools: Tools) => Scene)[] = [
  lateWord,
  changesOfMind,
  nobodyWatches,
  operatorSteps,
  lostInFees,
  spentElsewhere,
  lastMoment,
  outOfBlocks,
  latePayer,
  tooLate,
  twins,
  approvals,
  shutDoor,
  quietEnd,
  lateSeller,
  fullBook,
  comingAndGoing,
  dearSeller,
  brokenChannel,
  lingering,
  secondThoughts,
  overtaken,
  overtaken,
  thereAndBack,
  toldByTheOlder,
  lostUnheard,
  letGoFirst,
  letGoFirst,
  letGoFirst,
  letGoFirst,
  tornOut,
  closedEarly,
  onlySeller,
  lastOfIt,
  settlingSlowly,
  cancellingSlowly,
  invoiceAfterAll,
  attestedLate,
  attestedLate,
  heldBack,
  outOfSight,
  oneInvoiceForTwo,
  unpaid,
  missed,
  missed,
  takenAfterAll,
  inventions,
  undoneSale,
  undoneSale,
  undoneSale,
  undoneSale,
  decided,
  decided,
  decided,
  decided,
  decided,
  decided,
  borneOrNot,
  borneOrNot,
  borneUnpaid,
  borneUnpaid,
  unheardLoss,
  wrongMeanwhile,
  wrongMeanwhile,
  wrongMeanwhile,
]

export function sceneOf(draws: Random): Scene {
  const tools = toolsOf(draws)
  return { purchases: [tools.purchase()], weather: [], deeds: [], ...draws.pick(SCENES)(tools) }
}
