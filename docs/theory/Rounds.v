(** Rounds: nothing proves itself.  docs/theory.md, "Rounds"; absint/shapes/refinement.py.

    That rounds are sound is part of Soundness.v. Here are three shortcuts, each refuted by an analysis that is sound
    under facts. Facts are about a run; a statement is about a run and numbers that its symbols stand for. *)

From Coq Require Import List Arith.
Import ListNotations.

Set Implicit Arguments.

Section Rounds.
  Variables run node valuation : Type.
  Variable succeeds : run -> Prop.
  Variable visits : run -> node -> Prop.

  Definition fact := run -> Prop.
  Definition statement := run -> valuation -> Prop.

  (** What a node states, if these facts are taken for granted. *)
  Variable states_that : (fact -> Prop) -> node -> statement -> Prop.

  Definition holds_in (r : run) (known : fact -> Prop) := forall f, known f -> f r.

  Definition stated_truly (r : run) (known : fact -> Prop) :=
    exists numbers, forall n p, visits r n -> states_that known n p -> p r numbers.

  Definition sound_under_facts :=
    forall known r, succeeds r -> holds_in r known -> stated_truly r known.

  (** Every run that succeeds visits the node: it is needed, and in no branch or body. *)
  Definition in_every_run n := forall r, succeeds r -> visits r n.

  (** A fact that follows from what such nodes state, whatever numbers symbols of that round stand for. *)
  Definition taught_by (known : fact -> Prop) (f : fact) :=
    forall r numbers,
    succeeds r -> holds_in r known -> (forall n p, in_every_run n -> states_that known n p -> p r numbers) -> f r.

  Inductive round : (fact -> Prop) -> Prop :=
  | first_round (known : fact -> Prop) : (forall f, ~ known f) -> round known
  | next_round (known more : fact -> Prop) : round known -> (forall f, more f -> known f \/ taught_by known f) ->
    round more.
End Rounds.

(** A run is a size [d] that a user chose. *)

Definition is_64 : fact nat := fun d => d = 64.
Definition size_is_64 : statement nat unit := fun d _ => d = 64.
Definition only_that (f : fact nat) : fact nat -> Prop := fun g => g = f.

(** Facts that are confirmed by an analysis that takes them for granted: a node that hands on what it is told. *)
Theorem facts_may_not_support_themselves :
  let states_that (known : fact nat -> Prop) (_ : unit) p := known is_64 /\ p = size_is_64 in
  let succeeds (d : nat) := True in
  let visits (d : nat) (n : unit) := True in
  sound_under_facts succeeds visits states_that /\
  in_every_run succeeds visits tt /\
  (forall f, only_that is_64 f -> states_that (only_that is_64) tt (fun d _ => f d)) /\
  ~ holds_in 5 (only_that is_64).
Proof.
  unfold sound_under_facts, holds_in, stated_truly, in_every_run, only_that. repeat split; auto.
  - intros known d _ facts. exists tt. intros n p _ [taken ->]. now apply facts.
  - now subst.
  - intro facts. specialize (facts is_64 eq_refl). discriminate.
Qed.

(** Nodes that only some runs visit: one in a branch that requires 64 rows. *)
Theorem branches_may_not_teach :
  let states_that (known : fact (nat * bool) -> Prop) (_ : unit) p := p = fun r (_ : unit) => fst r = 64 in
  let succeeds (r : nat * bool) := snd r = true -> fst r = 64 in
  let visits (r : nat * bool) (n : unit) := snd r = true in
  sound_under_facts succeeds visits states_that /\ succeeds (5, false) /\ ~ fst (5, false) = 64.
Proof.
  repeat split.
  - intros known r success _. exists tt. intros n p taken ->. auto.
  - discriminate.
  - discriminate.
Qed.

(** Legality by a later round: MatMul by a matrix of 64 rows requires [d == 64], and nothing where that is a fact. *)
Theorem a_later_round_is_no_contract :
  let states_that (known : fact nat -> Prop) (_ : unit) p := ~ known is_64 /\ p = size_is_64 in
  let succeeds (d : nat) := d = 64 in
  let visits (d : nat) (n : unit) := True in
  let meets d known := forall n p, states_that known n p -> p d tt in
  sound_under_facts succeeds visits states_that /\
  (forall d, meets d (fun _ => False) -> succeeds d) /\
  round succeeds visits states_that (only_that is_64) /\
  meets 5 (only_that is_64) /\ ~ succeeds 5.
Proof.
  repeat split.
  - intros known d success _. exists tt. now intros n p _ [_ ->].
  - intros d met. now apply (met tt size_is_64).
  - apply next_round with (fun _ => False); [now apply first_round |].
    intros f ->. right. intros d numbers success _ _. exact success.
  - intros n p [free _]. now destruct free.
  - discriminate.
Qed.
