import { createMachine } from 'xstate'

/** Facts about reservations that may follow in every status. */
const laterReservationFacts = (status: string) => ({
  ReservationRefused: status,
  ReservationReleased: status,
  ReservationUsed: status,
  ReservationFundingRecorded: status,
})

/** The facts that each status allows. A reservation can be released or used in every status of the offer. */
export const offerMachine = createMachine({
  id: 'offer',
  initial: 'NONE',
  states: {
    NONE: { on: { OfferCreated: 'ENABLED' } },
    ENABLED: {
      on: {
        OfferUpdated: 'ENABLED',
        OfferDisabled: 'DISABLED',
        OfferDisabledByAdmin: 'ADMIN_DISABLED',
        CapacityReserved: 'ENABLED',
        ...laterReservationFacts('ENABLED'),
      },
    },
    DISABLED: {
      on: {
        OfferUpdated: 'DISABLED',
        OfferEnabled: 'ENABLED',
        OfferDisabledByAdmin: 'ADMIN_DISABLED',
        ...laterReservationFacts('DISABLED'),
      },
    },
    ADMIN_DISABLED: {
      on: { OfferUpdated: 'ADMIN_DISABLED', OfferEnabledByAdmin: 'ENABLED', ...laterReservationFacts('ADMIN_DISABLED') },
    },
  },
})
