import { createMachine } from 'xstate'

const reservationEndFacts = (status: string) => ({
  ReservationRefused: status,
  ReservationReleased: status,
  ReservationUsed: status,
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
        ...reservationEndFacts('ENABLED'),
      },
    },
    DISABLED: {
      on: {
        OfferUpdated: 'DISABLED',
        OfferEnabled: 'ENABLED',
        OfferDisabledByAdmin: 'ADMIN_DISABLED',
        ...reservationEndFacts('DISABLED'),
      },
    },
    ADMIN_DISABLED: {
      on: { OfferUpdated: 'ADMIN_DISABLED', OfferEnabledByAdmin: 'ENABLED', ...reservationEndFacts('ADMIN_DISABLED') },
    },
  },
})
