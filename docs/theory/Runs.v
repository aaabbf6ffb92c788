(** Runs of a graph, and why a post-fixpoint covers them.  docs/theory.md, "Loops".

    A run visits nodes, again and again in cycles. What a visit computes depends on the visits before it. An analysis
    keeps one state for each node, and its transfer gives the state of a node from those of others. No more is asked of
    the order than that it respects what states mean: no joins, no monotone transfer, no best abstraction. *)

From Coq Require Import List.
Import ListNotations.

Set Implicit Arguments.

(** What runs do. *)
Record program := {
  node : Type;
  value : Type;
  computes : list (node * value) -> node -> value -> Prop
  (** after these visits, the last one first, a visit of this node may compute this value *)
}.

Inductive run (P : program) : list (node P * value P) -> Prop :=
| run_begins : run P []
| run_goes_on visits n v : run P visits -> computes P visits n v -> run P ((n, v) :: visits).

(** What states mean. *)
Record domain (value : Type) := {
  state : Type;
  leq : state -> state -> Prop;
  gamma : state -> value -> Prop;
  leq_refl : forall a, leq a a;
  gamma_monotone : forall a b v, leq a b -> gamma a v -> gamma b v
}.

Arguments leq {value d}.
Arguments gamma {value d}.

Section Soundness.
  Variable P : program.
  Variable D : domain (value P).

  Definition states := node P -> state D.

  Definition covers (s : states) (visits : list (node P * value P)) :=
    forall n v, In (n, v) visits -> gamma (s n) v.

  Definition sound (transfer : node P -> states -> state D) :=
    forall s visits n v, covers s visits -> computes P visits n v -> gamma (transfer n s) v.

  Definition post_fixpoint (transfer : node P -> states -> state D) (s : states) :=
    forall n, leq (transfer n s) (s n).

  Theorem post_fixpoint_covers_every_run transfer s :
    sound transfer -> post_fixpoint transfer s -> forall visits, run P visits -> covers s visits.
  Proof.
    intros is_sound is_stable visits is_run.
    induction is_run as [| visits n v _ IH computed]; intros m w visit; [contradiction |].
    destruct visit as [visit | visit]; [injection visit as <- <- | auto].
    apply (gamma_monotone D) with (transfer n s); eauto.
  Qed.
End Soundness.

(** Closed forms: the state of a loop's head in trip [i], stable along [i -> i + 1]. How it was guessed is irrelevant. *)
Section ClosedForms.
  Variable value : Type.
  Variable D : domain value.
  Variable start : value -> Prop.
  Variable body : nat -> value -> value -> Prop.

  Inductive carried : nat -> value -> Prop :=
  | carried_first v : start v -> carried 0 v
  | carried_on i v w : carried i v -> body i v w -> carried (S i) w.

  Variable start_state : state D.
  Variable body_state : nat -> state D -> state D.
  Hypothesis start_sound : forall v, start v -> gamma start_state v.
  Hypothesis body_sound : forall i a v w, gamma a v -> body i v w -> gamma (body_state i a) w.

  Theorem stable_form_covers_every_trip (form : nat -> state D) :
    leq start_state (form 0) ->
    (forall i, leq (body_state i (form i)) (form (S i))) ->
    forall i v, carried i v -> gamma (form i) v.
  Proof.
    intros first next i v trip.
    induction trip as [v begun | i v w _ IH trip]; eapply gamma_monotone; eauto.
  Qed.
End ClosedForms.
